import type { ResourceKind } from '../../../../core/crd/schemas.ts'
import { ChaperoneError } from '../../../../core/errors.ts'
import type { ReplayReply } from '../../../../core/wire/policies.ts'
import type { PolicyTestResult } from '../../policies/rows.ts'

/** A policy with the changes of a refused edit. A policy that the edit removes has no effect on decisions. */
export type EditedPolicy = {
  readonly id: string
  /** False for a policy that the edit would have created. */
  readonly isStored: boolean
  readonly isRemoved: boolean
  readonly name: string
  readonly policyYaml: string
  readonly enabled: boolean
  readonly priority: number
  readonly mode: 'enforce' | 'monitor'
  /** Ids of the Gateways to which the policy applies. An empty list means all Gateways. */
  readonly gatewayIds: readonly string[]
  readonly tests: readonly PolicyTestResult[]
}

type Refused = {
  /** Remedy for the user, as full sentences. */
  readonly remedy: string
  /** YAML documents for the user to commit. Absent or empty when the edit adds and changes nothing. */
  readonly manifest?: string
  readonly removed?: ReadonlyArray<{
    readonly kind: ResourceKind
    readonly namespace: string
    readonly name: string
  }>
  readonly policies?: readonly EditedPolicy[]
  /** Result of replaying recent requests with the edit. */
  readonly replay?: ReplayReply
}

/** Error (`conflict`) that refuses an edit where `DASHBOARD_EDITING` requires edits in YAML. */
export class EditedInYaml extends ChaperoneError {
  readonly refused: Refused

  constructor(refused: Refused) {
    const { remedy, manifest = '', removed = [], policies = [], replay } = refused
    const tests = policies.flatMap((each) =>
      each.isRemoved ? [] : [{ policy: each.name, tests: each.tests }],
    )
    super('conflict', {
      error: 'Edited in YAML',
      detail: `Gateways, Connectors, Permissions and Policies are edited in YAML here (DASHBOARD_EDITING), so nothing was changed. ${remedy}`,
      extra: { editing: 'yaml', manifest, removed, tests, ...(replay === undefined ? {} : { replay }) },
    })
    this.refused = refused
  }
}
