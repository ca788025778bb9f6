import type { RawRequest } from '../../../core/request/canonical.ts'
import { seeded } from '../../support/proof.ts'
import { USUAL_HOST } from '../connectors/golden.ts'
import type { Pair, Piece, PlainRequest } from './plain-request.ts'

export type Spelt = { readonly raw: RawRequest; readonly body: string | undefined }

/** Numbers from 0 to 1; `() => 0` spells everything the plainest way. */
export type Chance = () => number

export function plainly(request: PlainRequest): Spelt {
  return spell(request, () => 0)
}

/** Another spelling that every upstream takes for the same request. */
export function otherwise(request: PlainRequest, seed: number): Spelt {
  return spell(request, seeded(seed))
}

function spell(request: PlainRequest, chance: Chance): Spelt {
  const path = `/${request.pieces.map((piece) => spellPiece(piece, chance)).join('')}`.replace(/\/$/, '')
  const query = shuffled(request.query, chance).map((pair) => spellPair(pair, chance))
  const target = `${path === '' ? '/' : path}${query.length === 0 ? '' : `?${query.join('&')}`}`
  const body = request.body === null ? undefined : spellBody(request, request.body, chance)
  const headers = spellHeaders(request, body, chance)
  return {
    raw: {
      method: request.method,
      target,
      rawHeaders: headers,
      httpVersion: '1.1',
      scheme: 'https',
      sources: {},
    },
    body,
  }
}

/** With the slash that ends it; a tail's slashes may be escaped as well. */
function spellPiece({ text, holds, verb = '' }: Piece, chance: Chance): string {
  const spelt = [...text]
    .map((char) => (char === '/' ? slash(holds, chance) : spellChar(char, chance)))
    .join('')
  return spelt + spellVerb(verb, chance) + (holds === 'tail' && chance() > 0.8 ? '%2F' : '/')
}

function spellVerb(verb: string, chance: Chance): string {
  return [...verb].map((char) => (char === ':' ? char : spellChar(char, chance))).join('')
}

function slash(holds: Piece['holds'], chance: Chance): string {
  if (holds === 'tail' && chance() < 0.5) return '/'
  return chance() > 0.5 ? '%2f' : '%2F'
}

const UNRESERVED = /^[A-Za-z0-9._~-]$/

function spellChar(char: string, chance: Chance): string {
  if (UNRESERVED.test(char)) return chance() > 0.85 ? escaped(char, chance) : char
  // What may stand in a path as it is, and means the same escaped.
  if (/^[!$'()*,:@]$/.test(char) && chance() > 0.5) return char
  return escaped(char, chance)
}

function escaped(char: string, chance: Chance): string {
  return [...Buffer.from(char)]
    .map((byte) => {
      const hex = byte.toString(16).padStart(2, '0')
      return `%${[...hex].map((digit) => (chance() > 0.5 ? digit : digit.toUpperCase())).join('')}`
    })
    .join('')
}

function spellPair([name, value]: Pair, chance: Chance): string {
  const spelt = (text: string) =>
    [...text].map((char) => (char === ' ' && chance() > 0.5 ? '+' : spellChar(char, chance))).join('')
  return `${spelt(name)}=${spelt(String(value))}`
}

function spellBody(request: PlainRequest, pairs: readonly Pair[], chance: Chance): string {
  const order = shuffled(pairs, chance)
  if (request.format === 'form') return order.map((pair) => spellPair(pair, chance)).join('&')
  const space = () => (chance() > 0.6 ? ([' ', '\n', '\t', '\r\n  '][Math.floor(chance() * 4)] ?? '') : '')
  const members = order.map(
    ([name, value]) =>
      `${space()}${jsonText(name, chance)}${space()}:${space()}${typeof value === 'string' ? jsonText(value, chance) : String(value)}${space()}`,
  )
  return `${space()}{${members.join(',')}}${space()}`
}

/** A JSON string; some of its characters as `\uXXXX`, in either case. */
function jsonText(text: string, chance: Chance): string {
  const units = text.split('').map((unit) => {
    if (chance() <= 0.8) return JSON.stringify(unit).slice(1, -1)
    const hex = unit.charCodeAt(0).toString(16).padStart(4, '0')
    return `\\u${chance() > 0.5 ? hex : hex.toUpperCase()}`
  })
  return chance() === 0 ? JSON.stringify(text) : `"${units.join('')}"`
}

function spellHeaders(request: PlainRequest, body: string | undefined, chance: Chance): string[] {
  const host = USUAL_HOST[request.provider]
  const fields: string[][] = [
    [cased('Host', chance), chance() > 0.7 ? cased(host, chance) : host + (chance() > 0.8 ? ':443' : '')],
  ]
  if (chance() > 0.5) fields.push([cased('Accept', chance), '*/*'], ['X-Anything', 'a, b'])
  if (body !== undefined) {
    const type = request.format === 'json' ? 'application/json' : 'application/x-www-form-urlencoded'
    const charset = chance() > 0.7 ? `;${chance() > 0.5 ? ' ' : ''}charset=${cased('utf-8', chance)}` : ''
    fields.push([cased('Content-Type', chance), cased(type, chance) + charset])
    fields.push([cased('Content-Length', chance), String(Buffer.byteLength(body))])
  }
  return shuffled(fields, chance).flat()
}

function cased(text: string, chance: Chance): string {
  return [...text]
    .map((char) => (chance() > 0.7 ? (chance() > 0.5 ? char.toUpperCase() : char.toLowerCase()) : char))
    .join('')
}

function shuffled<T>(items: readonly T[], chance: Chance): readonly T[] {
  return items
    .map((item, at) => ({ item, at, weight: chance() }))
    .sort((a, b) => a.weight - b.weight || a.at - b.at)
    .map(({ item }) => item)
}
