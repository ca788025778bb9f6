/**
 * Minimum length of a form of the credential (`echoForms`) that is searched within other text. Shorter forms match by
 * accident.
 */
const MIN_LENGTH = 6

export type EchoForms = {
  /** Forms that are searched anywhere in a text, longest first. */
  readonly anywhere: readonly string[]
  /** Forms of a short credential. They are searched as whole words, longest first. */
  readonly words: readonly string[]
}

/**
 * Returns the forms in which an upstream may echo a credential: as sent, without the authentication scheme, both halves
 * of a Basic pair, and each of these in base64 (at any alignment, so also within a longer text), percent-encoded, and
 * escaped for JSON and HTML. Forms are in latin-1 and lower case, because HTTP/2 sends names in lower case and servers
 * escape in both cases. `sent` contains the values of the header fields that the connector added; values without the
 * credential are ignored. `secret` is the stored credential.
 */
export function echoForms(sent: readonly string[], secret: string): EchoForms {
  const bare = secret.trim()
  const carriers = sent.map(partsOf).filter((parts) => parts.some((part) => carries(part, bare)))
  const texts = [...new Set([bare, withoutScheme(bare), ...carriers.flat()])]
  const forms = texts.flatMap((text) => [...spellings(text), ...base64Within(text)])
  return {
    anywhere: longestFirst(forms.filter((form) => form.length >= MIN_LENGTH)),
    // Base64 within a longer text is never a whole word, so base64 forms are not searched as words.
    words: longestFirst(texts.flatMap(spellings).filter((form) => form !== '' && form.length < MIN_LENGTH)),
  }
}

/**
 * Returns true when the part contains the credential. A short credential must be equal to the part, because it may
 * occur by accident in other fields that a connector adds.
 */
function carries(part: string, bare: string): boolean {
  return bare.length < MIN_LENGTH ? part === bare : part.includes(bare)
}

function longestFirst(forms: readonly string[]): readonly string[] {
  return [...new Set(forms)].sort((a, b) => b.length - a.length)
}

/**
 * Returns the parts of a header value that may be the credential: `abc` of `Bearer abc`. For `Basic …` also the decoded
 * pair and the password, or the user name when the password is empty.
 */
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
  const alone = bytes.toString('base64')
  const encoded = [alone, alone.replace(/=+$/, '')].flatMap(forUrlsToo)
  const forms = [raw, ...percentEncoded(text), ...escaped(raw), ...escaped(text), ...encoded]
  return forms.map((form) => latin1(form).toLowerCase())
}

function percentEncoded(text: string): readonly string[] {
  const component = encodeURIComponent(text)
  const strict = component.replaceAll(/[!'()*]/g, (char) => `%${hex(char, 2)}`)
  return [encodeURI(text), component, strict, strict.replaceAll('~', '%7E'), strict.replaceAll('%20', '+')]
}

/** Returns the text in the escaped forms of JSON encoders (minimal, with slashes, with HTML characters) and of HTML. */
function escaped(text: string): readonly string[] {
  const json = JSON.stringify(text).slice(1, -1)
  const unicode = JSON_RESERVED.map((reserved) => json.replaceAll(reserved, (char) => `\\u${hex(char, 4)}`))
  const html = HTML_ENTITIES.map((entities) =>
    text.replaceAll(/[&<>"'/=]/g, (char) => entities[char] ?? char),
  )
  return [json, json.replaceAll('/', '\\/'), ...unicode, ...html]
}

/**
 * Characters that JSON encoders escape beyond the required ones: those of Go, those of two encoders that escape for
 * HTML, and all characters outside ASCII.
 */
const JSON_RESERVED = [/[&<>]/g, /[&<>'=]/g, /[&<>'/=+]/g, /[\u0080-\uffff]/g]

const HTML_ENTITIES: ReadonlyArray<Readonly<Record<string, string>>> = [
  { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' },
  { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&#34;', "'": '&#39;' },
  { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#x27;', '/': '&#x2F;', '=': '&#x3D;' },
]

function hex(char: string, digits: number): string {
  return char.charCodeAt(0).toString(16).padStart(digits, '0')
}

/**
 * Returns the credential as it appears within the base64 of a longer text, at each of the three alignments. Characters
 * that also depend on neighboring bytes are excluded.
 */
function base64Within(text: string): readonly string[] {
  const bytes = Buffer.from(text)
  return [0, 1, 2].flatMap((offset) => {
    const encoded = Buffer.concat([Buffer.alloc(offset), bytes]).toString('base64')
    const bits = (offset + bytes.length) * 8
    return forUrlsToo(encoded.slice(Math.ceil((offset * 8) / 6), Math.floor(bits / 6))).map((form) =>
      form.toLowerCase(),
    )
  })
}

function forUrlsToo(encoded: string): readonly string[] {
  return [encoded, encoded.replaceAll('+', '-').replaceAll('/', '_')]
}

/** Returns the text with one character for each byte. Text beyond latin-1 is encoded as UTF-8. */
function latin1(text: string): string {
  return /^[\u0000-\u00ff]*$/.test(text) ? text : Buffer.from(text).toString('latin1')
}
