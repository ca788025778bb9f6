import type { RawHeaders } from '../../../core/request/canonical.ts'
import { headerValue } from '../../../core/request/headers/headers.ts'
import type { PacedEdit } from './body-edit.ts'
import type { EchoForms } from './echo-forms.ts'
import type { ResponseStage } from './response-stage.ts'
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
  /** End of the received text that may be the beginning of a form of the credential, and is not forwarded yet. */
  let held = ''
  /** End of the forwarded text, the context for a word search. */
  let before = ''

  function mask(text: string, isWhole: boolean): string {
    const parts = masked(text, anywhere)
    const safe = maskWords === null ? parts : maskWords(before + parts, before.length, { isWhole })
    if (safe !== text) onMasked()
    return safe
  }

  return {
    kind: 'paced',
    push(chunk) {
      const safe = mask(held + chunk.toString('latin1'), false)
      const searched = lower(safe)
      const length = Math.max(beginningAtEnd(searched, anywhere, 1), beginningAtEnd(searched, words, 0))
      held = length === 0 ? '' : safe.slice(-length)
      const passed = length === 0 ? safe : safe.slice(0, -length)
      if (maskWords !== null) before = (before + passed).slice(-WORD_CONTEXT)
      return Buffer.from(passed, 'latin1')
    },
    end: () => Buffer.from(mask(held, true), 'latin1'),
  }
}

/**
 * Returns the number of characters at the end of the text that may be the beginning of a form of the credential, and
 * must wait for the next chunk. `missing` is the minimum number of characters that the form still lacks: 1, or 0 for
 * whole words, because the text after a word decides whether the word is a whole word.
 */
function beginningAtEnd(text: string, forms: readonly string[], missing: 0 | 1): number {
  return Math.max(0, ...forms.map((form) => overlap(text, form, missing)))
}

function overlap(text: string, form: string, missing: number): number {
  const first = form.charAt(0)
  const from = Math.max(0, text.length - form.length + missing)
  for (let at = text.indexOf(first, from); at >= 0; at = text.indexOf(first, at + 1)) {
    if (form.startsWith(text.slice(at))) return text.length - at
  }
  return 0
}
