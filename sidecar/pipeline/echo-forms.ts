/** Shorter ones would match by accident. */
const MIN_LENGTH = 6

/**
 * The forms in which an upstream may send a credential back, the longest first: as it was sent, without the
 * authentication scheme, the two halves of a Basic pair, and each of them in base64 (at any alignment, so also within a
 * longer text), percent-encoded and escaped as JSON and HTML have it. One character a byte, in
 * lower case: HTTP/2 writes names so, and servers write escapes in both. `sent` are the values of the
 * header fields that the connector added, `secret` is what is stored; a value without it is no credential.
 */
export function echoForms(sent: readonly string[], secret: string): readonly string[] {
  const bare = secret.trim()
  const carriers = sent.map(partsOf).filter((parts) => parts.some((part) => part.includes(bare)))
  const texts = new Set([bare, withoutScheme(bare), ...carriers.flat()])
  const forms = [...texts].filter((text) => text.length >= MIN_LENGTH).flatMap(spellings)
  return [...new Set(forms)].filter((form) => form.length >= MIN_LENGTH).sort((a, b) => b.length - a.length)
}

/** `Bearer abc` as `abc`; `Basic …` also as the pair within it and as the password, or as the user where it has none. */
function partsOf(value: string): readonly string[] {
  const bare = withoutScheme(value)
  if (!/^\s*basic /i.test(value)) return [bare]
  const pair = Buffer.from(bare, 'base64').toString('utf8')
  const colon = pair.indexOf(':')
  return [bare, pair, pair.slice(colon + 1) || pair.slice(0, colon)]
}

function withoutScheme(value: string): string {
  return value.trim().replace(/^[A-Za-z][\w-]* +(?=\S)/, '')
}

function spellings(text: string): readonly string[] {
  const bytes = Buffer.from(text)
  const raw = bytes.toString('latin1')
  const forms = [raw, ...percentEncoded(text), ...escaped(raw), ...escaped(text), ...base64(bytes)]
  return forms.map((form) => latin1(form).toLowerCase())
}

function percentEncoded(text: string): readonly string[] {
  const component = encodeURIComponent(text)
  const strict = component.replaceAll(/[!'()*]/g, (char) => `%${hex(char, 2)}`)
  return [encodeURI(text), component, strict, strict.replaceAll('~', '%7E'), strict.replaceAll('%20', '+')]
}

/** As writers of JSON differ: only what has to be escaped, slashes too, what HTML reserves too; then as HTML itself. */
function escaped(text: string): readonly string[] {
  const json = JSON.stringify(text).slice(1, -1)
  const unicode = JSON_RESERVED.map((reserved) => json.replaceAll(reserved, (char) => `\\u${hex(char, 4)}`))
  const html = HTML_ENTITIES.map((entities) =>
    text.replaceAll(/[&<>"'/=]/g, (char) => entities[char] ?? char),
  )
  return [json, json.replaceAll('/', '\\/'), ...unicode, ...html]
}

/** Of Go, of writers that escape for HTML, and of those that write ASCII only. */
const JSON_RESERVED = [/[&<>]/g, /[&<>'=]/g, /[&<>'/=+]/g, /[\u0080-\uffff]/g]

const HTML_ENTITIES: ReadonlyArray<Readonly<Record<string, string>>> = [
  { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' },
  { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&#34;', "'": '&#39;' },
  { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#x27;', '/': '&#x2F;', '=': '&#x3D;' },
]

function hex(char: string, digits: number): string {
  return char.charCodeAt(0).toString(16).padStart(digits, '0')
}

/** Alone, and what it contributes to the encoding of a longer text at each of the three alignments. */
function base64(bytes: Buffer): readonly string[] {
  const within = [0, 1, 2].map((offset) => {
    const encoded = Buffer.concat([Buffer.alloc(offset), bytes]).toString('base64')
    const bits = (offset + bytes.length) * 8
    return encoded.slice(Math.ceil((offset * 8) / 6), Math.floor(bits / 6))
  })
  const alone = bytes.toString('base64')
  const forms = [alone, alone.replace(/=+$/, ''), ...within]
  return forms.flatMap((form) => [form, form.replaceAll('+', '-').replaceAll('/', '_')])
}

/** Characters beyond a byte as UTF-8; what is one character a byte already stays. */
function latin1(text: string): string {
  return /^[\u0000-\u00ff]*$/.test(text) ? text : Buffer.from(text).toString('latin1')
}
