import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { stringify } from 'yaml'
import { metricFamilies } from '../../scripts/metrics/metric-families.ts'
import { readAlerts } from '../../scripts/metrics/metrics-page.ts'
import { hasCommand } from '../support/has-command.ts'
import { CHART } from './chart.ts'

const run = promisify(execFile)
const ALERTS = join(CHART, 'files/alerts.yaml')

/** Series of a sound installation, and of one where everything that an alert is for has happened. */
type Case = {
  readonly alert: string
  /** Series and their values every 30 s for an hour, in the notation of promtool. */
  readonly sound: Readonly<Record<string, string>>
  readonly broken: Readonly<Record<string, string>>
  /** Labels of the alert beside its severity. */
  readonly labels?: Readonly<Record<string, string>>
}

const POD = { namespace: 'team', pod: 'triage-0' }
const ON_POD = 'namespace="team",pod="triage-0"'
const always = (value: number) => `${value}x120`
const state = (name: string, { is, not }: { readonly is: string; readonly not: string }) => ({
  [`${name}{${ON_POD},state="${is}"}`]: always(1),
  [`${name}{${ON_POD},state="${not}"}`]: always(0),
})
const one = (series: string, sound: number, broken: number) => ({
  sound: { [series]: always(sound) },
  broken: { [series]: always(broken) },
})

const exportedRecordsLost = (outcome: 'rejected' | 'dropped'): Case => {
  const series = (value: string) => ({
    'svc_record_export_rejected_total{destination="otlp"}': always(0),
    'svc_record_export_dropped_total{destination="otlp"}': always(0),
    [`svc_record_export_${outcome}_total{destination="otlp"}`]: value,
  })
  return {
    alert: 'ChaperoneExportedRecordsLost',
    sound: series('7x120'),
    broken: series('0+1x120'),
    labels: { destination: 'otlp' },
  }
}

const CASES: readonly Case[] = [
  { alert: 'ChaperoneBypassDetected', ...one(`svc_bypass_detected{${ON_POD}}`, 0, 1) },
  { alert: 'ChaperoneBypassDetected', ...one('svc_gateway_processes_bypassed', 0, 1) },
  {
    alert: 'ChaperoneUngovernedPods',
    ...one('svc_operator_ungoverned_pods{gateway="team/main"}', 0, 2),
    labels: { gateway: 'team/main' },
  },
  {
    alert: 'ChaperoneCaptureUnproven',
    sound: state('svc_capture_state', { is: 'proven', not: 'unproven' }),
    broken: state('svc_capture_state', { is: 'unproven', not: 'proven' }),
    labels: POD,
  },
  {
    alert: 'ChaperoneSidecarsNotReady',
    ...one('svc_operator_sidecars_not_ready{gateway="team/main"}', 0, 1),
    labels: { gateway: 'team/main' },
  },
  {
    alert: 'ChaperoneJournalFilling',
    sound: {
      [`svc_journal_bytes{${ON_POD}}`]: always(79),
      [`svc_journal_limit_bytes{${ON_POD}}`]: always(100),
    },
    broken: {
      [`svc_journal_bytes{${ON_POD}}`]: always(81),
      [`svc_journal_limit_bytes{${ON_POD}}`]: always(100),
    },
    labels: POD,
  },
  {
    alert: 'ChaperoneJournalStopped',
    sound: state('svc_journal_state', { is: 'ok', not: 'full' }),
    broken: state('svc_journal_state', { is: 'full', not: 'ok' }),
    labels: { ...POD, state: 'full' },
  },
  {
    alert: 'ChaperoneRecordsLost',
    sound: { [`svc_journal_lost_records_total{${ON_POD}}`]: always(3) },
    broken: { [`svc_journal_lost_records_total{${ON_POD}}`]: '0x110 1x10' },
    labels: POD,
  },
  {
    alert: 'ChaperoneAdmissionFailing',
    sound: { 'svc_operator_admission_reviews_total{webhook="pods",outcome="injected"}': '0+9x120' },
    broken: { 'svc_operator_admission_reviews_total{webhook="pods",outcome="failed"}': '0x110 1x10' },
    labels: { webhook: 'pods' },
  },
  {
    alert: 'ChaperoneAdmissionRefusals',
    sound: { 'svc_operator_admission_reviews_total{webhook="pods",outcome="injected"}': '0+9x120' },
    broken: { 'svc_operator_admission_reviews_total{webhook="pods",outcome="refused"}': '0+1x120' },
  },
  {
    alert: 'ChaperoneAdmissionSlow',
    sound: {
      'svc_operator_admission_review_seconds_bucket{webhook="pods",le="1"}': '0+9x120',
      'svc_operator_admission_review_seconds_bucket{webhook="pods",le="2.5"}': '0+9x120',
      'svc_operator_admission_review_seconds_bucket{webhook="pods",le="+Inf"}': '0+9x120',
    },
    broken: {
      'svc_operator_admission_review_seconds_bucket{webhook="pods",le="1"}': '0+1x120',
      'svc_operator_admission_review_seconds_bucket{webhook="pods",le="2.5"}': '0+9x120',
      'svc_operator_admission_review_seconds_bucket{webhook="pods",le="+Inf"}': '0+9x120',
    },
    labels: { webhook: 'pods' },
  },
  ...['svc_certificate', 'svc_operator_certificate'].map((name) => ({
    alert: 'ChaperoneCertificateExpiring',
    sound: {
      [`${name}_age_seconds{${ON_POD},certificate="webhook"}`]: always(70),
      [`${name}_remaining_seconds{${ON_POD},certificate="webhook"}`]: always(30),
    },
    broken: {
      [`${name}_age_seconds{${ON_POD},certificate="webhook"}`]: always(81),
      [`${name}_remaining_seconds{${ON_POD},certificate="webhook"}`]: always(19),
    },
    labels: { ...POD, certificate: 'webhook' },
  })),
  { alert: 'ChaperoneConfigurationLagging', ...one('svc_sync_version_lag', 0, 1) },
  {
    alert: 'ChaperoneGatewayDisconnected',
    ...one(`svc_control_plane_lost_seconds{${ON_POD}}`, 20, 90),
    labels: POD,
  },
  { alert: 'ChaperoneKillSwitchActive', ...one('svc_kill_switch_active{scope="all"}', 0, 1) },
  { alert: 'ChaperoneKillSwitchActive', ...one('svc_kill_switches_active', 0, 1) },
  { alert: 'ChaperoneKillSwitchNotApplied', ...one('svc_gateway_processes_kill_pending', 0, 1) },
  { alert: 'ChaperoneKillSwitchNotApplied', ...one('svc_operator_stops_behind_seconds', 5, 60) },
  {
    alert: 'ChaperoneCredentialUnreadable',
    ...one('svc_operator_secrets_unreadable{reason="forbidden"}', 0, 2),
    labels: { reason: 'forbidden' },
  },
  {
    alert: 'ChaperoneOperatorStale',
    ...one('svc_operator_staleness_seconds{resource="gateways"}', 60, 400),
    labels: { resource: 'gateways' },
  },
  {
    alert: 'ChaperoneOperatorDown',
    sound: { 'svc_operator_staleness_seconds{resource="gateways"}': always(1) },
    broken: {},
  },
  { alert: 'ChaperoneControlPlaneDown', sound: { svc_processes_active: always(0) }, broken: {} },
  { alert: 'ChaperonePlatformPolicyInvalid', ...one('svc_policies_invalid{tier="platform"}', 0, 1) },
  {
    alert: 'ChaperoneNotificationsFail',
    ...one('svc_notification_channel_failing{channel="email"}', 0, 1),
    labels: { channel: 'email' },
  },
  {
    alert: 'ChaperoneCredentialSourceFails',
    ...one('svc_minted_credential_failing{connector="default/codehost"}', 0, 1),
    labels: { connector: 'default/codehost' },
  },
  {
    alert: 'ChaperoneCredentialExpiring',
    // Replaced after three quarters of its lifetime of an hour.
    sound: {
      'svc_minted_credential_age_seconds{connector="default/codehost"}': always(2_700),
      'svc_minted_credential_remaining_seconds{connector="default/codehost"}': always(900),
    },
    // Expires while the alert is evaluated.
    broken: {
      'svc_minted_credential_age_seconds{connector="default/codehost"}': '0+30x120',
      'svc_minted_credential_remaining_seconds{connector="default/codehost"}': '3000-30x120',
    },
    labels: { connector: 'default/codehost' },
  },
  {
    alert: 'ChaperoneRecordExportBehind',
    ...one('svc_record_export_lag_seconds{destination="otlp"}', 60, 1_000),
    labels: { destination: 'otlp' },
  },
  ...(['rejected', 'dropped'] as const).map((outcome) => exportedRecordsLost(outcome)),
  {
    alert: 'ChaperoneUpstreamErrors',
    sound: { 'svc_connector_errors_total{connector="codehost",error_type="500"}': '0+15x120' },
    broken: { 'svc_connector_errors_total{connector="codehost",error_type="500"}': '0+60x120' },
    labels: { connector: 'codehost' },
  },
]

describe('the alerts', () => {
  test('have a case each, and a text with the event, its reason and the remedy', async () => {
    const alerts = await readAlerts()
    expect([...new Set(CASES.map(({ alert }) => alert))].sort()).toEqual(
      alerts.map(({ alert }) => alert).sort(),
    )
    for (const { alert, annotations } of alerts) {
      expect(annotations.summary, alert).toMatch(/^[A-Z{].*[^.]$/)
      expect(annotations.description, alert).toMatch(/^.+\. .+\.$/)
    }
  })

  describe.skipIf(!hasCommand('promtool'))('in Prometheus', () => {
    let folder: string
    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'chaperone-alerts-'))
    })
    afterAll(() => rm(folder, { recursive: true, force: true }))

    test('fire when what they are for has happened, and are silent otherwise', async () => {
      const alerts = await readAlerts()
      const severityOf = (name: string) => alerts.find(({ alert }) => alert === name)?.labels.severity
      const tests = roundsOf(CASES).flatMap((round) => [
        testOf(round.map((each) => [each.alert, each.sound, []])),
        testOf(
          round.map(({ alert, broken, labels = {} }) => {
            const fired = { exp_labels: { severity: severityOf(alert), ...labels } }
            return [alert, broken, [fired]]
          }),
        ),
      ])
      // promtool compares annotations too, so the rules of the test have none.
      const rules = alerts.map(({ alert, expr, labels, ...rule }) => ({
        ...{ alert, expr, labels },
        ...(rule.for === undefined ? {} : { for: rule.for }),
      }))
      await writeFile(join(folder, 'rules.yaml'), stringify({ groups: [{ name: 'chaperone', rules }] }))
      await writeFile(
        join(folder, 'tests.yaml'),
        stringify({ rule_files: ['rules.yaml'], evaluation_interval: '30s', tests }),
      )
      const { stdout } = await run('promtool', ['test', 'rules', join(folder, 'tests.yaml')])
      expect(stdout).toContain('SUCCESS')
    })

    test('are valid rules, also their texts', async () => {
      const { stdout } = await run('promtool', ['check', 'rules', ALERTS])
      expect(stdout).toContain(`${(await readAlerts()).length} rules found`)
    })
  })
})

/**
 * Groups cases that can be true together, because promtool needs half a second for a test: no alert twice, and none on
 * absent series beside one on their values.
 */
function roundsOf(cases: readonly Case[]): ReadonlyArray<readonly Case[]> {
  const present = cases.filter(({ broken }) => Object.keys(broken).length > 0)
  const isFirst = ({ alert }: Case, at: number) => present.findIndex((each) => each.alert === alert) === at
  return [
    present.filter(isFirst),
    present.filter((each, at) => !isFirst(each, at)),
    cases.filter((each) => !present.includes(each)),
  ]
}

type Expected = readonly [alert: string, series: Readonly<Record<string, string>>, fired: readonly object[]]

function testOf(expected: readonly Expected[]) {
  // promtool needs a series, also to prove the absence of others.
  const series = Object.assign({ up: always(1) }, ...expected.map(([, each]) => each)) as Record<
    string,
    string
  >
  return {
    interval: '30s',
    input_series: Object.entries(series).map(([each, values]) => ({ series: each, values })),
    alert_rule_test: expected.map(([alertname, , exp_alerts]) => ({
      eval_time: '59m',
      alertname,
      exp_alerts,
    })),
  }
}

describe('the board and the alerts', () => {
  test('show every metric that a component serves to Prometheus, and no other', async () => {
    const { gateway, controlPlane, operator } = await metricFamilies()
    const served = new Set([...gateway, ...controlPlane, ...operator].map(({ name }) => name))
    const board = await readFile(join(CHART, 'files/dashboard.json'), 'utf8')
    const { panels } = JSON.parse(board) as {
      panels: ReadonlyArray<{ targets?: ReadonlyArray<{ expr: string }> }>
    }
    const shown = namesIn(panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)))
    expect([...served].filter((name) => !shown.has(name))).toEqual([])
    expect([...shown].filter((name) => !served.has(name))).toEqual([])
    const alerted = namesIn((await readAlerts()).map(({ expr }) => expr))
    expect([...alerted].filter((name) => !served.has(name))).toEqual([])
  })
})

function namesIn(expressions: readonly string[]): Set<string> {
  return new Set(
    expressions
      .flatMap((expr) => expr.match(/svc_[a-z0-9_]+/g) ?? [])
      .map((name) => name.replace(/_bucket$/, '')),
  )
}
