import type { Logger } from 'pino'
import type { ControlPlaneConfig } from './config.ts'
import type { Db } from './db/query.ts'
import { DailyCleanup } from './features/maintenance/daily-cleanup.ts'
import { createRetention } from './features/maintenance/service.ts'
import { createRecordExport } from './features/record-export/service.ts'
import { createRecords } from './features/traffic/ingest.ts'
import { createIngestQuota } from './features/traffic/ingest-quota.ts'
import { createTrafficRollup } from './features/traffic/rollups/rollup.ts'
import { createRecordExportSender } from './notification-services.ts'

export type RecordServicesDeps = {
  readonly db: Db
  readonly orgId: string
  readonly log: Logger
  readonly clock: { readonly monotonicMs: () => number }
  readonly config: Pick<
    ControlPlaneConfig,
    'auditRetentionDays' | 'trafficRetentionHours' | 'recordExport' | 'egressProxy'
  >
}

/** Creates the services that store records, roll them up, export them and delete them after their retention. */
export async function createRecordServices(deps: RecordServicesDeps) {
  const { config, log } = deps
  const { auditRetentionDays, trafficRetentionHours, recordExport: settings } = config
  const exportsRecords = settings !== null
  const retention = createRetention({ ...deps, auditRetentionDays, trafficRetentionHours, exportsRecords })
  return {
    records: createRecords(deps),
    ingestQuota: createIngestQuota({ nowMs: deps.clock.monotonicMs }),
    recordExport: await createRecordExport({ ...deps, settings, send: createRecordExportSender(config) }),
    retention,
    daily: new DailyCleanup({ retention, log }),
    rollup: createTrafficRollup(deps),
  }
}
