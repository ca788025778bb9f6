import type { RawHeaders } from '../../../core/request/canonical.ts'
import { headerValue } from '../../../core/request/headers/headers.ts'
import type { PacedEdit } from './body-edit.ts'
import type { EchoForms } from './echo-forms.ts'
import type { ResponseStage } from './response-stage.ts'
import { createStreamMask } from './stream-mask.ts'
import { createWordMask, isProtocolField, WORD_CONTEXT, type WordMask } from './word-mask.ts'

/**
 * Masks the injected credential where an upstream echoes it. An upstream that cooperates with the agent can still
 * return the credential in an encoding that is not searched.
 */
export type EchoMask = Pick<ResponseStage, 'readsBody'> & {
  /** Replaces every occurrence by `*` of the same length. Returns the same array when the credential does not occur. */
  fields(raw: RawHeaders): RawHeaders
  /**
   * Returns an edit that masks an uncompressed text body. Returns null for other bodies, and when bodies are not
   * masked.
   */
  edit(status: number, headers: RawHeaders): StreamEdit | null
}

type StreamEdit = PacedEdit & { push(chunk: Buffer): Buffer }

const MASK = '*'

export type EchoMaskOptions = {
  /** Forms of the credential, from `echoForms`. */
  readonly forms: EchoForms
  /** True when the Connector sets `scrubResponses`. */
  readonly hasBodies: boolean
  /** Called for each part in which a credential was masked. */
  readonly onMasked: () => void
}

/** Creates the mask. Returns null without forms, because there is no credential to mask. */
export function createEchoMask({ forms, hasBodies, onMasked }: EchoMaskOptions): EchoMask | null {
  if (forms.anywhere.length + forms.words.length === 0) return null
  const maskWords = forms.words.length === 0 ? null : createWordMask(forms.words)
  return {
    readsBody: hasBodies,
    fields(raw) {
      const safe = maskHeaders(raw, forms.anywhere)
      const all = maskWords === null ? safe : maskFieldWords(safe, maskWords)
      if (all !== raw) onMasked()
      return all
    },
    edit: (_status, headers) =>
      hasBodies && isPlainText(headers) ? maskBody(forms, { maskWords, onMasked }) : null,
  }
}

/** Masks header names and values. */
function maskHeaders(raw: RawHeaders, forms: readonly string[]): RawHeaders {
  return raw.some((text) => contains(text, forms)) ? raw.map((text) => masked(text, forms)) : raw
}

/** `forms` is sorted by length, longest first. Most header fields are shorter than the last, shortest form. */
function contains(text: string, forms: readonly string[]): boolean {
  if (text.length < (forms.at(-1)?.length ?? 0)) return false
  const searched = lower(text)
  return forms.some((form) => searched.includes(form))
}

function maskFieldWords(raw: RawHeaders, maskWords: WordMask): RawHeaders {
  const safe = raw.map((text, at) =>
    isProtocolField(raw[at - (at % 2)] ?? '') ? text : maskWords(text, 0, { isWhole: true }),
  )
  return safe.some((text, at) => text !== raw[at]) ? safe : raw
}

function lower(text: string): string {
  return text.toLowerCase()
}

/**
 * Masks all forms in linear time, because an upstream may repeat the credential any number of times. The search uses
 * the original text, so masked forms do not hide overlapping ones.
 */
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

type BodyOptions = { readonly maskWords: WordMask | null; readonly onMasked: () => void }

function maskBody({ anywhere, words }: EchoForms, { maskWords, onMasked }: BodyOptions): StreamEdit {
  const forms = createStreamMask(anywhere, onMasked)
  const whole = maskWords === null ? null : createWordStream(words, maskWords, onMasked)
  return {
    kind: 'paced',
    push(chunk) {
      const safe = forms.push(chunk)
      return whole === null ? safe : whole.push(safe, false)
    },
    end() {
      const safe = forms.end()
      return whole === null ? safe : whole.push(safe, true)
    },
  }
}

/** Masks whole words in a stream of text. `isWhole` of `push` is true for the last chunk. */
function createWordStream(words: readonly string[], maskWords: WordMask, onMasked: () => void) {
  /** End of the received text that may be the beginning of a word, and is not forwarded yet. */
  let held = ''
  /** End of the forwarded text, the context for a word search. */
  let before = ''
  return {
    push(chunk: Buffer, isWhole: boolean): Buffer {
      const text = held + chunk.toString('latin1')
      const safe = maskWords(before + text, before.length, { isWhole })
      if (safe !== text) onMasked()
      const length = isWhole ? 0 : beginningAtEnd(lower(safe), words)
      held = length === 0 ? '' : safe.slice(-length)
      const passed = length === 0 ? safe : safe.slice(0, -length)
      before = (before + passed).slice(-WORD_CONTEXT)
      return Buffer.from(passed, 'latin1')
    },
  }
}

/**
 * Returns the number of characters at the end of the text that may be a word or its beginning. They are held back until
 * the next chunk, because the text after a word decides whether the word is a whole word.
 */
function beginningAtEnd(text: string, words: readonly string[]): number {
  return Math.max(0, ...words.map((word) => overlap(text, word)))
}

function overlap(text: string, word: string): number {
  for (let length = Math.min(text.length, word.length); length > 0; length--)
    if (word.startsWith(text.slice(-length))) return length
  return 0
}
