/** One red pixel and a silent sound: the smallest files of their kinds. */
export const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=='
export const SILENCE = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQAAAAA='

export const RESOURCES = [
  { uri: 'test://static-text', name: 'text', description: 'Some text', mimeType: 'text/plain' },
  { uri: 'test://static-binary', name: 'picture', description: 'A picture', mimeType: 'image/png' },
  { uri: 'test://watched-resource', name: 'watched', description: 'May change', mimeType: 'text/plain' },
] as const

export const TEMPLATES = [
  {
    uriTemplate: 'test://template/{id}/data',
    name: 'template',
    description: 'One for each id',
    mimeType: 'application/json',
  },
] as const

export function readResource(uri: string) {
  const id = /^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1]
  if (id !== undefined) {
    const text = JSON.stringify({ id, data: `data of ${id}` })
    return { contents: [{ uri, mimeType: 'application/json', text }] }
  }
  if (uri === 'test://static-binary') return { contents: [{ uri, mimeType: 'image/png', blob: PIXEL }] }
  if (!RESOURCES.some((resource) => resource.uri === uri)) throw new Error(`no resource ${uri}`)
  return { contents: [{ uri, mimeType: 'text/plain', text: 'text of the resource' }] }
}
