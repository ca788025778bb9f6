type Child = Node | string | null | undefined
type Props = Readonly<Record<string, string | boolean | ((event: Event) => void)>>

/** Builds an element. Text is always text: nothing on these pages is ever parsed as HTML. */
export function h(tag: string, props: Props = {}, ...children: readonly Child[]): HTMLElement {
  const element = document.createElement(tag)
  for (const [name, value] of Object.entries(props)) setProperty(element, name, value)
  element.append(...children.filter((child) => child !== null && child !== undefined))
  return element
}

function setProperty(element: HTMLElement, name: string, value: Props[string]): void {
  if (typeof value === 'function') element.addEventListener(name.replace(/^on/, ''), value)
  else if (value === true) element.setAttribute(name, '')
  else if (typeof value === 'string') element.setAttribute(name, value)
}

/** `label: value` pairs; pairs without a value are left out. */
export function facts(pairs: ReadonlyArray<readonly [string, Child | number]>): HTMLElement {
  const list = h('dl', { class: 'facts' })
  for (const [name, value] of pairs) {
    if (value === null || value === undefined || value === '') continue
    list.append(h('dt', {}, name), h('dd', {}, typeof value === 'number' ? String(value) : value))
  }
  return list
}

export function tag(text: string): HTMLElement {
  return h('span', { class: `tag ${text}` }, text)
}

/** `12:34:56` in the reader's time zone. */
export function clockTime(iso: string): string {
  return new Date(iso).toLocaleTimeString(undefined, { hour12: false })
}
