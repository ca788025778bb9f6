import {
  type Answer,
  AUTHORITATIVE_ANSWER,
  type Packet,
  RECURSION_AVAILABLE,
  RECURSION_DESIRED,
} from 'dns-packet'
import { isPublicName, type NameOwner } from '../../../core/capture/host-names.ts'
import type { AddressPool, AddressRange } from './address-pool.ts'

export type DnsAnswerDeps = {
  /** Null while there are no rules yet. */
  readonly ownerOf: (name: string) => NameOwner | null
  /** Resolves with whether an unlisted name exists outside. Called only where such names are allowed. */
  readonly exists: (name: string) => Promise<boolean>
  readonly pool: Pick<AddressPool, 'owned' | 'unowned'>
  /** Whether names that no connector owns get addresses, too, so that connections to them are refused with the reason. */
  readonly answersUnowned: boolean
  /** Called with each name, in lower case, that no connector owns. */
  readonly onUnowned: (name: string) => void
  /** The families in which this machine can connect to the outside at all. */
  readonly families: () => { readonly v4: boolean; readonly v6: boolean }
}

const RCODES = { ok: 0, malformed: 1, nameUnknown: 3, notImplemented: 4 } as const
const TTL_S = 5
const OPCODE_MASK = 0x7800

/**
 * The answer to one query. Owned names exist and have addresses of the pool, and nothing else: no HTTPS or SVCB
 * record that would lead around, no text that would carry anything in. Other names do not exist, or with `answersUnowned`
 * have addresses of the second range. Nothing is asked outside for a name that is listed, so that a query cannot carry
 * anything out.
 */
export async function answerDns(query: Packet, deps: DnsAnswerDeps): Promise<Packet> {
  const [question, ...more] = query.questions ?? []
  if (question === undefined || more.length > 0) return reply(query, RCODES.malformed)
  if (((query.flags ?? 0) & OPCODE_MASK) !== 0 || (question.class ?? 'IN') !== 'IN') {
    return reply(query, RCODES.notImplemented)
  }
  const name = question.name.toLowerCase().replace(/\.$/, '')
  const range = await rangeOf(name, deps)
  if (range === null) return reply(query, RCODES.nameUnknown)
  const address = addressFor(question.type, range.addressesOf(name), deps.families())
  if (address === null) return reply(query, RCODES.ok)
  const answer = {
    type: address.type,
    name: question.name,
    class: 'IN',
    ttl: TTL_S,
    data: address.data,
  } as const
  return { ...reply(query, RCODES.ok), answers: [answer] }
}

/**
 * The range of the name's addresses; null when the name does not exist. Without rules every name exists: clients that
 * connect get 503, not a wrong name.
 */
async function rangeOf(name: string, deps: DnsAnswerDeps): Promise<AddressRange | null> {
  const { ownerOf, exists, pool } = deps
  const owner = ownerOf(name)
  if (owner === 'open') return (await exists(name)) ? pool.owned : null
  if (owner !== 'unknown') return pool.owned
  deps.onUnowned(name)
  return deps.answersUnowned && isPublicName(name) ? pool.unowned : null
}

function addressFor(type: string, { v4, v6 }: Addresses, families: Families) {
  if (type === 'A' && families.v4) return { type, data: v4 } as const
  if (type === 'AAAA' && families.v6) return { type, data: v6 } as const
  return null
}

type Addresses = ReturnType<AddressRange['addressesOf']>
type Families = ReturnType<DnsAnswerDeps['families']>

/** Recursion is said to be available: resolvers take an empty answer without it for a referral, and fail. */
function reply(query: Packet, rcode: number): Packet {
  const echoed = (query.flags ?? 0) & RECURSION_DESIRED
  const hasOpt = query.additionals?.some(({ type }) => type === 'OPT') === true
  return {
    type: 'response',
    ...(query.id === undefined ? {} : { id: query.id }),
    flags: AUTHORITATIVE_ANSWER | RECURSION_AVAILABLE | echoed | rcode,
    questions: query.questions ?? [],
    additionals: hasOpt ? [opt()] : [],
  }
}

/** EDNS is answered where it is spoken, with the size that never needs to be cut on its way. */
function opt(): Answer {
  const limits = { udpPayloadSize: 1_232, extendedRcode: 0, ednsVersion: 0 }
  return { type: 'OPT', name: '.', ...limits, flags: 0, flag_do: false, options: [] }
}
