"use strict";
const all = (what) => document.querySelectorAll(what);
const light = (line) => {
  for (const lit of all(".here")) lit.classList.remove("here");
  if (line) for (const same of all(`[data-s="${line}"]`)) same.classList.add("here");
};
const reveal = () => {
  const target = document.getElementById(location.hash.slice(1));
  for (let above = target; above; above = above.parentElement) if (above.tagName === "DETAILS") above.open = true;
  if (target) {
    light(target.dataset.s);
    target.scrollIntoView({ block: "center", inline: "start" });
  }
};
document.addEventListener("mouseover", (event) => {
  const line = event.target.closest("[data-s]");
  if (line) light(line.dataset.s);
});
for (const name of ["fold", "unfold"]) {
  const button = document.getElementById(name);
  button.hidden = false;
  button.addEventListener("click", () => {
    for (const region of all("details")) region.open = name === "unfold";
  });
}
addEventListener("hashchange", reveal);
reveal();
