import type { Logger } from 'pino'
import type { KnownAction } from '../core/action/spec.ts'
import type { Catalogue } from '../core/connectors/catalogue.ts'
import type { FloorRules } from '../core/crd/gateway/floors.ts'
import type { Clock } from '../core/state/clock.ts'
import { LIMITS } from '../core/wire/schema/limits.ts'
import type { Db } from './db/query.ts'
import type { ScopedReads } from './db/scoped-query.ts'
import type { ActionRulesSource } from './features/actions/rules.ts'
import type { Actions } from './features/actions/service.ts'
import { createPolicyExceptions } from './features/approvals/exceptions/service.ts'
import { createEvidence } from './features/audit/evidence/service.ts'
import { createOwnerTokenWarnings } from './features/authentication/break-glass.ts'
import type { GroupMembers } from './features/authentication/cluster/group-members.ts'
import { createCatalogueReading } from './features/connectors/catalogue.ts'
import { createReplayedEdit } from './features/manifests/editing/edit-replay.ts'
import { createActivity } from './features/overview/activity.ts'
import { Changes } from './features/overview/changes.ts'
import { createDemo } from './features/overview/demo.ts'
import { createOverview } from './features/overview/service.ts'
import { createDryRun } from './features/permissions/dry-run.ts'
import { createEffectivePermissions } from './features/permissions/effective.ts'
import { createPolicyCheck } from './features/policies/check.ts'
import { createPolicyHistory } from './features/policies/history.ts'
import { createPolicyReplay } from './features/policies/replay.ts'
import { createTrafficRecordReading } from './features/traffic/record.ts'
import { createRateWindow } from './http/rate-window.ts'
import type { Hub } from './sync/hub.ts'

export type PageServicesDeps = {
  readonly db: Db
  readonly read: ScopedReads
  readonly orgId: string
  readonly log: Logger
  readonly clock: Clock
  readonly hub: Pick<Hub, 'kill' | 'liveOf'>
  readonly catalogue: Catalogue
  readonly actions: Pick<Actions, 'dryRun' | 'submit'>
  readonly actionRules: ActionRulesSource
  readonly knownAction: (type: string) => KnownAction | null
  readonly floorRules: FloorRules
  readonly members: GroupMembers
  readonly deliveryWarnings: () => Promise<readonly string[]>
}

/** Creates the services that only the dashboard uses, including its example actions. */
export function createPageServices(deps: PageServicesDeps) {
  const { clock, hub } = deps
  const given = { ...deps, nowMs: clock.nowMs, kills: hub.kill.effective, liveOf: hub.liveOf }
  const policyReplay = createPolicyReplay(given)
  const policyCheck = createPolicyCheck(given)
  const catalogueReading = createCatalogueReading(deps.catalogue)
  return {
    changes: new Changes(given),
    overview: createOverview({ ...given, ownerTokenWarnings: createOwnerTokenWarnings(given) }),
    activity: createActivity(given),
    dryRun: createDryRun(given),
    trafficRecord: createTrafficRecordReading(given),
    catalogueReading,
    policyCheck,
    policyExceptions: createPolicyExceptions({ ...given, ...deps.floorRules, policyCheck }),
    policyReplay,
    replayedEdit: createReplayedEdit(policyReplay),
    policyHistory: createPolicyHistory(given),
    effectivePermissions: createEffectivePermissions({ ...given, reading: catalogueReading }),
    evidence: createEvidence(given),
    demo: createDemo({
      ...given,
      uses: createRateWindow(LIMITS.controlPlaneRatePerMinute, clock.monotonicMs),
    }),
  }
}
