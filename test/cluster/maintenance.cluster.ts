import { beforeAll, expect, inject, test } from 'vitest'
import type { Resource } from '../helm/chart.ts'
import { install, SYSTEM } from './installation.ts'
import { get, kube, kubectl } from './kubectl.ts'

beforeAll(() => install(inject('installation')), 200_000)

test('the maintenance that the chart plans for every night does its work', async () => {
  await kube(['create', 'job', 'maintenance-now', '--from=cronjob/chaperone-maintenance', '-n', SYSTEM])
  try {
    await kube(['wait', 'job/maintenance-now', '-n', SYSTEM, '--for=condition=Complete', '--timeout=90s'])
    const said = await kube(['logs', 'job/maintenance-now', '-n', SYSTEM])
    expect(said).toMatch(/^200 \{/)
    console.log(`maintenance: ${said.trim()}`)
    expect(Object.values(JSON.parse(said.slice(4)) as object)).not.toContain(-1)
  } finally {
    await kube(['delete', 'job', 'maintenance-now', '-n', SYSTEM, '--wait=false'])
  }
})

test('the API server takes everything that the chart can render, monitoring but for kinds that are not here included', async () => {
  const { resources } = await import('../helm/chart.ts')
  const all = await resources(
    ...inject('installation').values,
    '--set',
    'grafana.enabled=true,monitoring.enabled=true',
  )
  const isForeign = ({ apiVersion }: { readonly apiVersion: string }) =>
    apiVersion.startsWith('monitoring.coreos.com/')
  expect(
    all
      .filter(isForeign)
      .map(({ kind }) => kind)
      .sort(),
  ).toEqual(['PodMonitor', 'PodMonitor', 'PrometheusRule', 'ServiceMonitor'])
  const known = all.filter((each) => !isForeign(each)).map(withoutAccount)
  const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: known })
  const { code, stderr } = await kubectl(
    ['apply', '--dry-run=server', '--server-side', '--force-conflicts', '-f', '-'],
    list,
  )
  expect(stderr.split('\n').filter((line) => /error|unknown field|invalid/i.test(line))).toEqual([])
  expect(code).toBe(0)
  expect(await get('configmap', 'chaperone-dashboard', SYSTEM)).toBeNull()
})

/** A bare pod is looked at together with its account, which helm makes only for as long as its test takes. */
function withoutAccount(resource: Resource): object {
  const { kind, metadata, spec } = resource
  if (kind !== 'Pod') return resource
  return { apiVersion: 'v1', kind: 'PodTemplate', metadata, template: { spec } }
}
