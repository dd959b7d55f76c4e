// Applies the chosen theme before the first paint, so that the page never flashes in the other one.
// Not a module: modules run after the first paint.
try {
  const chosen = localStorage.getItem("aomg-theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch {
  // without storage, the system's preference applies
}
