/* Small behaviours of every page: copy buttons, questions before a step that cannot be undone, menus that close,
   forms that are sent once. Everything works without them, except copying. */
(() => {
  const say = (text) => {
    const region = document.getElementById("live-region");
    if (region) region.textContent = text;
  };

  const copy = async (button) => {
    const source = document.getElementById(button.dataset.copy);
    await navigator.clipboard.writeText(source.textContent.trim());
    const label = button.querySelector("[data-label]");
    if (label) label.textContent = button.dataset.done;
    say(button.dataset.done);
  };

  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-copy]");
    if (button) copy(button).catch(() => say(button.dataset.failed || ""));
    document.querySelectorAll("details.account-menu[open]").forEach((menu) => {
      if (!menu.contains(event.target)) menu.open = false;
    });
  });

  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    document.querySelectorAll("details.account-menu[open]").forEach((menu) => {
      menu.open = false;
      menu.querySelector("summary").focus();
    });
  });

  document.addEventListener("submit", (event) => {
    const form = event.target;
    const submitter = event.submitter;
    const question = (submitter && submitter.dataset.confirm) || form.dataset.confirm;
    if (question && !window.confirm(question)) { event.preventDefault(); return; }
    if (form.method !== "post" || form.dataset.resend !== undefined) return;
    if (form.dataset.sent) { event.preventDefault(); return; }
    form.dataset.sent = "1";
    window.addEventListener("pageshow", () => delete form.dataset.sent, { once: true });
  });

  document.addEventListener("change", (event) => {
    if (event.target.matches("[data-submit-on-change]")) event.target.form.requestSubmit();
  });

  document.addEventListener("htmx:responseError", () => say(document.body.dataset.offline || ""));
})();
