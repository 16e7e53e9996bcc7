
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
  // A number is a whole word: 5 is in "pi-5", not in "500 KiB".
  const has = (text, word) => /^\d+$/.test(word) ? text.split(/[^\w.]+/).includes(word) : text.includes(word);
  for (const box of document.querySelectorAll("div.scroll:has(> table)")) {
    const rows = [...box.querySelectorAll("tbody tr")];
    const mark = () => box.classList.toggle("more", box.scrollHeight - box.clientHeight - box.scrollTop > 8);
    box.addEventListener("scroll", mark);
    mark();
    const heads = [...box.querySelectorAll("thead th")];
    if (rows.length > 8) {
      const texts = rows.map((row) => [...row.cells].map(words).join(" "));
      const count = document.createElement("output");
      const filter = (text) => {
        const sought = text.split(/\s+/).filter(Boolean);
        rows.forEach((row, at) => { row.hidden = !sought.every((word) => has(texts[at], word)); });
        const shown = rows.filter((row) => !row.hidden).length;
        count.textContent = shown === rows.length ? `${shown} rows` : `${shown || "no"} of ${rows.length} rows`;
        mark();
      };
      addFilter(box, "Rows with", filter);
      box.before(count);
      filter("");
    }
    if (heads.length > 6) {
      addFilter(box, "Columns with", (text) => heads.forEach((head, at) => {
        const hidden = at > 0 && !words(head).includes(text);
        for (const row of [head.parentElement, ...rows]) row.cells[at].hidden = hidden;
      }));
    }
  }
}
