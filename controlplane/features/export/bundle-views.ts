import type { AgentRow } from '../agents/rows.ts'
import type { PolicyRow } from '../policies/rows.ts'

/** Converts an agent to its item in a bundle. */
export function agentView({ name, runtime, environment, status, capabilities, metadata }: AgentRow) {
  return { name, runtime, environment, status, capabilities, metadata }
}

/**
 * Converts a policy to its item in a bundle. The item contains the active text and not the newest text, because the
 * import would disable a policy whose newest text fails its tests.
 */
export function policyView(row: PolicyRow, nameOf: (gatewayId: string) => string) {
  const { name, description, priority, enabled, tags, mode } = row
  const policyYaml = row.activeYaml ?? row.policyYaml
  const version = row.activeVersion ?? row.version
  const gateways = row.gatewayIds.map(nameOf)
  const bound = gateways.length === 0 ? {} : { gateways }
  return { name, description, policyYaml, priority, enabled, tags, mode, version, ...bound }
}
