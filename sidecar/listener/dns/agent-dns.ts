import { createLru } from '../../collections/lru.ts'
import { type AddressPool, createAddressPool } from './address-pool.ts'
import { createDnsStream, type DnsStream, type DnsStreamDeps } from './dns.ts'

/** The DNS of one agent where one process serves several. */
export type AgentDns = Pick<AddressPool, 'nameOf'> & { readonly serve: DnsStream }

/** Agents beyond it, the longest idle ones, lose the names of the addresses that they were given. */
const MAX_AGENTS = 1_000

/**
 * Returns the DNS of an agent, with addresses and a limit of queries of its own: an agent that looks up many names
 * neither takes the answers of another one nor gives its addresses to other names.
 */
export function createAgentDns(deps: Omit<DnsStreamDeps, 'pool'>): (agent: string) => AgentDns {
  const known = createLru<AgentDns>(MAX_AGENTS)

  function create(agent: string): AgentDns {
    const pool = createAddressPool()
    const dns = { nameOf: pool.nameOf, serve: createDnsStream({ ...deps, pool }) }
    known.set(agent, dns)
    return dns
  }

  return (agent) => known.get(agent) ?? create(agent)
}
