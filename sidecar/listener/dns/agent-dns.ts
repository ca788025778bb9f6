import { createLru } from '../../collections/lru.ts'
import { type AddressPool, createAddressPool } from './address-pool.ts'
import { createDnsStream, type DnsStream, type DnsStreamDeps } from './dns.ts'

/** DNS of one agent, in a process that serves several agents. */
export type AgentDns = Pick<AddressPool, 'nameOf'> & { readonly serve: DnsStream }

/**
 * Maximum number of agents. Beyond this number, the agent that was idle longest is evicted, and its assigned addresses
 * lose their names.
 */
const MAX_AGENTS = 1_000

/**
 * Returns a function that returns the DNS of an agent. Each agent has its own addresses and query limit. An agent that
 * looks up many names therefore neither uses up the query limit of another agent nor evicts its addresses.
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
