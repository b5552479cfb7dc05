/* Sets the theme before the first paint; the button in the header switches it and remembers the choice here. */
(() => {
  const root = document.documentElement;
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const stored = () => {
    try { return window.localStorage.getItem("hydra-theme"); } catch { return null; }
  };
  const apply = () => {
    root.dataset.bsTheme = stored() || (system.matches ? "dark" : "light");
    document.dispatchEvent(new CustomEvent("hydra:theme"));
  };
  root.classList.add("js");
  apply();
  system.addEventListener("change", apply);
  document.addEventListener("click", (event) => {
    if (!event.target.closest("[data-theme-toggle]")) return;
    const next = root.dataset.bsTheme === "dark" ? "light" : "dark";
    try { window.localStorage.setItem("hydra-theme", next); } catch { root.dataset.bsTheme = next; }
    apply();
  });
})();
