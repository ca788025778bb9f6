/**
 * Keeps the focus of a dialog on the element that the user focused. The focus trap of Mantine focuses
 * `[data-autofocus]` twice, the second time in a later task, which browsers delay by up to a second in background
 * windows. Without this function, the focus would move to the first field while the user types in another field.
 */
export function keepDialogFocus(document: Document): void {
  document.addEventListener('focusin', ({ target }) => {
    if (!(target instanceof HTMLElement)) return
    const dialog = target.parentElement?.closest('[role=dialog]')
    if (!dialog) return
    for (const each of dialog.querySelectorAll('[data-autofocus]')) each.removeAttribute('data-autofocus')
    target.setAttribute('data-autofocus', 'true')
  })
}
