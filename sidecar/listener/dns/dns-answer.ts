import {
  type Answer,
  AUTHORITATIVE_ANSWER,
  type Packet,
  RECURSION_AVAILABLE,
  RECURSION_DESIRED,
} from 'dns-packet'
import { isPublicName, type NameOwner } from '../../../core/capture/host-names.ts'
import { GATEWAY_HOST } from '../../../core/request/gateway-host.ts'
import type { AddressPool, AddressRange } from './address-pool.ts'

export type DnsAnswerDeps = {
  /** Returns how the DNS listener treats the name (see `NameOwner`); null before the first snapshot. */
  readonly ownerOf: (name: string) => NameOwner | null
  /**
   * Resolves with true when a name that no connector lists exists in public DNS. Called only where the gateway allows
   * such names.
   */
  readonly exists: (name: string) => Promise<boolean>
  readonly pool: Pick<AddressPool, 'owned' | 'unowned'>
  /**
   * True when names that no connector owns also get addresses, so that the gateway can refuse connections to them with
   * the reason.
   */
  readonly answersUnowned: boolean
  /** Called with each name that no connector owns, in lower case. */
  readonly onUnowned: (name: string) => void
  /** Returns the address families in which this machine has outbound connectivity. */
  readonly families: () => { readonly v4: boolean; readonly v6: boolean }
}

const RCODES = { ok: 0, malformed: 1, nameUnknown: 3, notImplemented: 4 } as const
const TTL_S = 5
const OPCODE_MASK = 0x7800

/**
 * Answers one query. Names with an owner get addresses of the pool and no other records: an HTTPS or SVCB record could
 * bypass the gateway, and a TXT record could carry data in. Other names do not exist, or get addresses of the range for
 * unowned names (`answersUnowned`). The gateway never forwards a query for a listed name, so such a query cannot carry
 * data out.
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
 * Returns the address range of the name; null when the name does not exist. The host name of the gateway itself has an
 * address, so that captured clients can send requests to the gateway. Without a snapshot every name exists, so that
 * clients connect and receive 503 instead of a name error.
 */
async function rangeOf(name: string, deps: DnsAnswerDeps): Promise<AddressRange | null> {
  const { ownerOf, exists, pool } = deps
  if (name === GATEWAY_HOST) return pool.owned
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

/**
 * Builds an empty reply with RA (recursion available). Resolvers treat an empty answer without RA as a referral, and
 * fail.
 */
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

/**
 * Builds the EDNS record, which is sent only in reply to a query with EDNS. The record announces a UDP payload of 1232
 * bytes, which is never fragmented.
 */
function opt(): Answer {
  const limits = { udpPayloadSize: 1_232, extendedRcode: 0, ednsVersion: 0 }
  return { type: 'OPT', name: '.', ...limits, flags: 0, flag_do: false, options: [] }
}
