import type { HostIndex } from '../connectors/registry.ts'
import type { EnforcementLevel } from '../decision/decision.ts'
import type { PermissionIndex } from '../decision/permissions.ts'
import type { PolicyIndex } from '../decision/policy-index.ts'
import type { Verdict } from '../decision/vocabulary.ts'
import type { AgentEntry, GatewaySection, TokenKeyEntry } from '../wire/sync.ts'

/** Everything a gateway decides with, frozen. A request loads it once and keeps it to its end. */
export type Snapshot = {
  readonly version: number
  readonly gateway: GatewaySection & {
    readonly level: EnforcementLevel
    readonly defaultVerdict: Verdict
  }
  readonly agentsByName: ReadonlyMap<string, AgentEntry>
  readonly hosts: HostIndex
  readonly permissions: PermissionIndex
  readonly policies: PolicyIndex
  readonly keys: readonly TokenKeyEntry[]
  readonly sections: Readonly<Record<string, string>>
}
