export type NavigationGroup = {
  readonly text: string
  readonly items: ReadonlyArray<{ readonly text: string; readonly link: string }>
}

/**
 * Parses the groups of the navigation from `docs/README.md`: its sections, and the links in the lists of each section.
 */
export function navigationOf(index: string): readonly NavigationGroup[] {
  return index
    .split(/^## /m)
    .slice(1)
    .map((section) => ({
      text: section.split('\n')[0] ?? '',
      items: [...section.matchAll(/^- \[([^\]]+)\]\(([^)#]+)\)/gm)].map(([, text = '', link = '']) => ({
        text,
        link: `/${link.replace(/(README)?\.md$/, '')}`,
      })),
    }))
}
