import type { RawHeaders } from '../../core/request/canonical.ts'
import { headerValue } from '../../core/request/headers.ts'
import type { StreamEdit } from '../upstream/answer-edit.ts'

/**
 * Masks the injected credential where an upstream sends it back. It stops an echo, not an upstream that helps the agent:
 * an encoding of its own passes.
 */
export type EchoMask = {
  /** The fields with every occurrence replaced by `*`, length unchanged; the very same array when there is none. */
  headers(raw: RawHeaders): RawHeaders
  /** A scrubber for a body of text that is not compressed; null for any other, and where bodies are not scrubbed. */
  body(headers: RawHeaders): StreamEdit | null
}

const MASK = '*'

export type EchoMaskOptions = {
  /** See `echoForms`. */
  readonly forms: readonly string[]
  /** `scrubResponses` of the Connector. */
  readonly hasBodies: boolean
  /** Called for each part in which something was masked. */
  readonly onMasked: () => void
}

/** Null without forms: the secret is too short to be told from other text. */
export function createEchoMask({ forms, hasBodies, onMasked }: EchoMaskOptions): EchoMask | null {
  if (forms.length === 0) return null
  return {
    headers: (raw) => maskHeaders(raw, forms, onMasked),
    body: (headers) => (hasBodies && isPlainText(headers) ? maskBody(forms, onMasked) : null),
  }
}

/** Names, too. */
function maskHeaders(raw: RawHeaders, forms: readonly string[], onMasked: () => void): RawHeaders {
  const all = lower(raw.join(SEPARATOR))
  if (!forms.some((form) => all.includes(form))) return raw
  onMasked()
  return raw.map((text) => masked(text, forms))
}

/** In no field and in no form. */
const SEPARATOR = '\n'

function lower(text: string): string {
  return text.toLowerCase()
}

/** Linear: an upstream may send the secret without end. All forms are looked for in the text as it came. */
function masked(text: string, forms: readonly string[]): string {
  const searched = lower(text)
  return forms.reduce((out, form) => maskForm(out, form, searched), text)
}

function maskForm(text: string, form: string, searched: string): string {
  const mask = MASK.repeat(form.length)
  let out = ''
  let done = 0
  for (let at = searched.indexOf(form); at >= 0; at = searched.indexOf(form, done)) {
    out += text.slice(done, at) + mask
    done = at + form.length
  }
  return done === 0 ? text : out + text.slice(done)
}

const TEXT =
  /^(?:text\/|application\/(?:[^;]*\+)?(?:json|xml)|application\/(?:javascript|x-ndjson|x-www-form-urlencoded))/i

function isPlainText(headers: RawHeaders): boolean {
  const coding = headerValue(headers, 'content-encoding')?.trim().toLowerCase() ?? ''
  return (
    (coding === '' || coding === 'identity') && TEXT.test(headerValue(headers, 'content-type')?.trim() ?? '')
  )
}

function maskBody(forms: readonly string[], onMasked: () => void): StreamEdit {
  /** The end of what came, as long as it may be the beginning of the secret. */
  let held = ''
  return {
    push(chunk) {
      const text = held + chunk.toString('latin1')
      const safe = masked(text, forms)
      if (safe !== text) onMasked()
      const length = beginningAtEnd(lower(safe), forms)
      held = length === 0 ? '' : safe.slice(-length)
      return Buffer.from(length === 0 ? safe : safe.slice(0, -length), 'latin1')
    },
    // Too short to be a whole one.
    end: () => Buffer.from(held, 'latin1'),
  }
}

/** How many characters at the end may be the beginning of a form: only these wait for the next chunk. */
function beginningAtEnd(text: string, forms: readonly string[]): number {
  return Math.max(...forms.map((form) => overlap(text, form)))
}

function overlap(text: string, form: string): number {
  const first = form.charAt(0)
  const from = Math.max(0, text.length - form.length + 1)
  for (let at = text.indexOf(first, from); at >= 0; at = text.indexOf(first, at + 1)) {
    if (form.startsWith(text.slice(at))) return text.length - at
  }
  return 0
}
