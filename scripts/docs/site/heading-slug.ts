/**
 * Returns the anchor that GitHub generates for a heading. The site uses the same anchors, so that links with an anchor
 * work on GitHub and on the site.
 */
export function headingSlug(heading: string): string {
  return heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\p{M}_ -]/gu, '')
    .replaceAll(' ', '-')
}
