// Light or dark, as it was chosen before: set while the page is read, so that it never flashes in the other one.
// No module: modules run later than the first paint.
try {
  const chosen = localStorage.getItem("aomg-theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch {
  // a browser that keeps nothing shows what the system prefers
}
