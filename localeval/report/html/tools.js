"use strict";
// What the pages' scripts share, and the switches of language and theme. A page's own script comes after it, in the
// same script element.
const root = document.documentElement;
const by = (id) => document.getElementById(id);
const all = (selector) => [...document.querySelectorAll(selector)];

function make(tag, className, ...inside) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  made.append(...inside);
  return made;
}
function filled(text, values) { return text.replace(/\{(\w+)\}/g, (_, name) => values[name] ?? ""); }
// Scrolls the text and the column around an element so far that it is seen in them.
function scrollBoxesTo(element) {
  for (const box of [element.closest(".text"), element.closest(".beside")]) {
    const above = element.getBoundingClientRect().top - box.getBoundingClientRect().top;
    if (above < 0 || above > box.clientHeight - 30) box.scrollTop += above - 60;
  }
}

addEventListener("DOMContentLoaded", () => {
  by("language").addEventListener("click", () => {
    root.lang = root.lang === "zh" ? "en" : "zh";
    // The style shows one of two elements; an option or a placeholder has one text, which is replaced.
    const name = root.lang === "zh" ? "Zh" : "En";
    all("[data-text-en]").forEach((e) => { e.textContent = e.dataset[`text${name}`]; });
    all("[data-placeholder-en]").forEach((e) => { e.placeholder = e.dataset[`placeholder${name}`]; });
  });
  by("theme").addEventListener("click", () => {
    const now = root.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
    root.dataset.theme = now === "dark" ? "light" : "dark";
  });
  all(".tools").forEach((e) => { e.hidden = false; });
});
