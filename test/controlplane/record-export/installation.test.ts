import { expect, test } from 'vitest'
import { installationChecks } from '../../../controlplane/cli/doctor/installation-checks.ts'
import { eventually } from '../../support/eventually.ts'
import { ENROL_TOKEN, startTestInstallation } from '../routes/installation.ts'
import { at, caller } from '../routes/start.ts'
import { startLogsStub, trafficRecord } from './world.ts'

test('records that a gateway uploads leave for the receiver of the setting, and doctor shows its failure', async () => {
  await using stub = await startLogsStub()
  stub.replyWith(() => ({ status: 503 }))
  await using here = await startTestInstallation({ RECORD_EXPORT_URL: stub.url })
  const gateway = caller(here.plane.url, {
    authorization: `Bearer ${ENROL_TOKEN}`,
    'x-process-id': 'process',
  })
  const record = trafficRecord({ agent: null })
  const uploaded = await gateway('POST', '/api/gateway/records', { records: [record], lost: [] })
  expect(uploaded.status).toBe(200)
  const failure = 'Records cannot be exported: answered 503. Check RECORD_EXPORT_URL and its receiver.'
  const warnings = async () =>
    at<string[]>((await here.admin('GET', '/api/dashboard/overview')).body, 'warnings')
  await eventually('the warning', async () => ((await warnings()).includes(failure) ? true : null))
  const send = (method: string, path: string) => here.admin(method as 'GET', path)
  const checks = await installationChecks({ send } as never)
  expect(checks).toContainEqual({ name: 'installation', state: 'warning', found: failure })

  stub.replyWith(() => ({ status: 200 }))
  await here.sql('update record_destinations set retry_at = now()')
  await eventually('the record', () => (stub.accepted.includes(record.id) ? true : null))
  const metrics = async () => (await here.maintenance('GET', '/api/metrics')).text
  const sent = 'svc_record_export_sent_total{destination="otlp"} 1\n'
  await eventually('the metric', async () => ((await metrics()).includes(sent) ? true : null))
  expect(await metrics()).toContain('svc_record_export_lag_seconds{destination="otlp"} 0\n')
  expect(await warnings()).not.toContain(failure)
})
