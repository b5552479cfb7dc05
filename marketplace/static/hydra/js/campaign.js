/* The sponsor's form: shows only the fields of the chosen kind of data, and adds rows for attributes. */
document.addEventListener("DOMContentLoaded", () => {
  const form = document.querySelector(".campaign-form");
  if (!form) return;

  const showKind = () => {
    const kind = form.elements.modality.value;
    form.querySelectorAll("[data-for-kind]").forEach((part) => {
      part.hidden = !part.dataset.forKind.split(" ").includes(kind);
    });
  };
  form.addEventListener("change", (event) => { if (event.target.name === "modality") showKind(); });
  showKind();

  const total = form.querySelector("[name=groups-TOTAL_FORMS]");
  const rows = form.querySelector("[data-rows]");
  const template = form.querySelector("[data-row-template]");
  form.querySelector("[data-add-row]").addEventListener("click", () => {
    const holder = document.createElement("div");
    holder.innerHTML = template.innerHTML.replaceAll("__prefix__", total.value);
    const row = holder.firstElementChild;
    rows.append(row);
    total.value = Number(total.value) + 1;
    row.querySelector("input").focus();
  });
});
