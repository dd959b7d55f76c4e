// The theme button: auto (the system's preference), light, dark.

import {write} from "./element.js";

const NEXT = {auto: "light", light: "dark", dark: "auto"};

export function themeSwitch(button) {
  const root = document.documentElement;
  const say = () => {
    const now = root.dataset.theme ?? "auto";
    write(button, `Theme: ${now}`);
    button.title = `${now === "auto" ? "Your system's preference" : `Always ${now}`}; click for ${NEXT[now]}`;
  };
  button.addEventListener("click", () => {
    const next = NEXT[root.dataset.theme ?? "auto"];
    if (next === "auto") delete root.dataset.theme;
    else root.dataset.theme = next;
    try {
      if (next === "auto") localStorage.removeItem("aomg-theme");
      else localStorage.setItem("aomg-theme", next);
    } catch {
      // without storage, it applies until the page is closed
    }
    say();
    document.dispatchEvent(new Event("theme"));
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => document.dispatchEvent(new Event("theme")));
  say();
}
