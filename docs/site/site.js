// What mdBook leaves out for keyboards and screen readers: the menu's label is a button, and what scrolls can be focused.
document.getElementById("mdbook-sidebar-toggle")?.setAttribute("role", "button");
for (const box of document.querySelectorAll(".table-wrapper, pre > code")) {
  if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
}
