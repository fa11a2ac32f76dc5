// SPDX-License-Identifier: Apache-2.0
"use strict";

// Sorts a table by a column: up the first time, then down. Keys that are numbers come before texts.
function key(row, column) {
  const cell = row.cells[column];
  const said = cell.dataset.key;
  if (said === undefined) {
    return cell.textContent;
  }
  const number = said === "inf" ? Infinity : Number(said);
  return said !== "" && !Number.isNaN(number) ? number : said;
}

function compare(one, other) {
  if (typeof one === "number" && typeof other === "number") {
    return one === other ? 0 : one < other ? -1 : 1;
  }
  return String(one).localeCompare(String(other), undefined, { numeric: true });
}

function sort(header) {
  const body = header.closest("table").tBodies[0];
  const up = header.getAttribute("aria-sort") !== "ascending";
  const rows = Array.from(body.rows, (row) => [key(row, header.cellIndex), row]);
  rows.sort((one, other) => compare(one[0], other[0]) * (up ? 1 : -1));
  body.append(...rows.map((each) => each[1]));
  for (const each of header.parentElement.cells) {
    each.setAttribute("aria-sort", "none");
  }
  header.setAttribute("aria-sort", up ? "ascending" : "descending");
}

for (const button of document.querySelectorAll("th button")) {
  button.addEventListener("click", () => sort(button.parentElement));
}

// The target of a link is opened; on paper everything is open.
function reveal() {
  const target = document.getElementById(location.hash.slice(1));
  for (let each = target; each instanceof HTMLDetailsElement; each = each.parentElement) {
    each.open = true;
  }
  if (target !== null) {
    target.scrollIntoView();
  }
}

window.addEventListener("hashchange", reveal);
reveal();

let closed = [];
window.addEventListener("beforeprint", () => {
  closed = Array.from(document.querySelectorAll("details:not([open])"));
  closed.forEach((each) => { each.open = true; });
});
window.addEventListener("afterprint", () => {
  closed.forEach((each) => { each.open = false; });
});
