
"use strict";
{
  // A link to a folded part opens it, and all that it is in.
  const reveal = () => {
    const found = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    for (let each = found; each; each = each.parentElement) if (each.tagName === "DETAILS") each.open = true;
    if (found) found.scrollIntoView();
  };
  addEventListener("hashchange", reveal);
  reveal();

  // Paper cannot be clicked.
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")];
    for (const each of opened) each.open = true;
  });
  addEventListener("afterprint", () => { for (const each of opened) each.open = false; });

  // Long tables can be filtered by their rows, and wide ones by their columns.
  const words = (cell) => `${cell.textContent} ${cell.title}`.toLowerCase();
  const addFilter = (box, label, apply) => {
    const field = document.createElement("label");
    const input = document.createElement("input");
    field.className = "filter";
    field.textContent = label;
    input.type = "search";
    input.addEventListener("input", () => apply(input.value.trim().toLowerCase()));
    field.append(input);
    box.before(field);
  };
  for (const box of document.querySelectorAll("div.scroll:has(> table)")) {
    const rows = [...box.querySelectorAll("tbody tr")];
    const heads = [...box.querySelectorAll("thead th")];
    if (rows.length > 8) {
      const texts = rows.map((row) => [...row.cells].map(words).join(" "));
      addFilter(box, "Rows with", (text) => rows.forEach((row, at) => { row.hidden = !texts[at].includes(text); }));
    }
    if (heads.length > 6) {
      addFilter(box, "Columns with", (text) => heads.forEach((head, at) => {
        const hidden = at > 0 && !words(head).includes(text);
        for (const row of [head.parentElement, ...rows]) row.cells[at].hidden = hidden;
      }));
    }
  }
}
