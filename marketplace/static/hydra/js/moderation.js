/* The queue by keyboard: J and K move between cards, A accepts, R rejects (asking for a reason), X ticks. */
document.addEventListener("DOMContentLoaded", () => {
  const cards = () => [...document.querySelectorAll("[data-card]")];
  const here = () => document.activeElement.closest("[data-card]");

  const move = (step) => {
    const all = cards();
    const at = all.indexOf(here());
    const next = all[Math.min(all.length - 1, Math.max(0, at + step))];
    if (next) { next.focus(); next.scrollIntoView({ block: "nearest" }); }
  };

  const press = (selector) => {
    const card = here();
    const button = card && card.querySelector(selector);
    if (button) button.click();
  };

  const reject = () => {
    const card = here();
    const reason = card && card.querySelector("select[name=reason]");
    if (!reason) return;
    if (reason.value || card.querySelector("[name=words]").value) press("[data-reject]");
    else reason.focus();
  };

  const tick = () => {
    const card = here();
    const box = card && card.querySelector("[data-tick]");
    if (box) box.checked = !box.checked;
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.matches("input, select, textarea")) return;
    const act = { j: () => move(1), k: () => move(-1), a: () => press("[data-accept]"), r: reject, x: tick }[event.key.toLowerCase()];
    if (!act) return;
    event.preventDefault();
    act();
  });

  document.addEventListener("change", (event) => {
    if (!event.target.matches("[data-tick-all]")) return;
    document.querySelectorAll("[data-tick]").forEach((box) => { box.checked = event.target.checked; });
  });

  document.addEventListener("htmx:afterSwap", (event) => {
    const card = document.getElementById(event.detail.target.id);
    const next = card && card.matches(".decided") && card.nextElementSibling;
    (next || card || document.body).focus();
  });
});
