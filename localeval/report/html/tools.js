"use strict";
// Switches language and theme. The page is whole without it.
addEventListener("DOMContentLoaded", () => {
  const root = document.documentElement;
  const by = (id) => document.getElementById(id);
  by("language").addEventListener("click", () => {
    root.lang = root.lang === "zh" ? "en" : "zh";
  });
  by("theme").addEventListener("click", () => {
    const now = root.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
    root.dataset.theme = now === "dark" ? "light" : "dark";
  });
  document.querySelectorAll(".tools").forEach((e) => { e.hidden = false; });
});
