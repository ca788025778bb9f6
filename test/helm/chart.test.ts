import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { readConfig } from '../../controlplane/config.ts'
import { TOKEN_AUDIENCE, TOKEN_TTL_S } from '../../core/capture/pod-contract.ts'
import { resourceFields } from '../../core/resource-attributes.ts'
import { guardNames } from '../../operator/guard/guard-names.ts'
import { MANIFESTS_CONFIGURATION, WEBHOOK_CONFIGURATION } from '../../operator/webhook/configuration.ts'
import { KINDS } from '../../scripts/crds/kinds.ts'
import {
  CHART,
  helm,
  helmProgram,
  LEAST,
  podsOf,
  type Resource,
  type Rule,
  resources,
  resourcesOf,
  template,
} from './chart.ts'

const EVERYTHING = [
  'postgres.bundled',
  'monitoring.enabled',
  'grafana.enabled',
  'operator.evictUngoverned',
].flatMap((name) => ['--set', `${name}=true`])

describe.skipIf(helmProgram === null)('the chart', () => {
  test('renders deterministically', async () => {
    for (const values of [LEAST, EVERYTHING]) {
      const [first, second] = await Promise.all([template(...values), template(...values)])
      expect(first).toBe(second)
      expect(first.length).toBeGreaterThan(10_000)
    }
  })

  test('passes helm lint', async () => {
    expect(await helm('lint', '--strict', CHART, ...LEAST)).toContain('0 chart(s) failed')
  })

  test.each([
    ['a value that it does not know', 'controlPlane.replica=3', /replica/],
    ['one that is deep inside', 'postgres.persistence.sizes=1Gi', /sizes/],
    ['a number that makes no sense', 'operator.replicas=0', /replicas/],
    ['a word that is none of those', 'image.pullPolicy=Sometimes', /pullPolicy/],
    ['a floor that is none', 'floors.enforcementLevel=strict', /enforcementLevel/],
    ['a floor of an unknown field', 'floors.rateLimit=1', /rateLimit/],
    ['another way of editing', 'dashboard.editing=files', /editing/],
    ['a digest that is none', 'image.digest=latest', /digest/],
  ])('refuses %s, and names it', async (_what, value, message) => {
    await expect(template(...LEAST, '--set', value)).rejects.toThrow(message)
  })

  test('requires exactly one database', async () => {
    await expect(template()).rejects.toThrow(/database\.urlSecret\.name/)
    await expect(template(...LEAST, '--set', 'postgres.bundled=true')).rejects.toThrow(/Set only one of them/)
  })

  test('has two operators and two control planes with disruption budgets, and their surroundings', async () => {
    const all = await resources(...LEAST)
    const named = (kind: string) =>
      all
        .filter((each) => each.kind === kind)
        .map(({ metadata }) => metadata.name)
        .sort()
    const both = ['chaperone-control-plane', 'chaperone-operator']
    expect(named('Deployment')).toEqual(both)
    for (const { spec } of all.filter(({ kind }) => kind === 'Deployment')) {
      expect(spec).toMatchObject({ replicas: 2 })
      expect(JSON.stringify(spec)).toContain('topologySpreadConstraints')
    }
    expect(named('PodDisruptionBudget')).toEqual(both)
    for (const { spec } of all.filter(({ kind }) => kind === 'PodDisruptionBudget'))
      expect(spec).toMatchObject({ minAvailable: 1 })
    expect(named('CronJob')).toEqual(['chaperone-maintenance'])
    expect(named('NetworkPolicy')).toEqual(expect.arrayContaining(both))
    const optional = ['StatefulSet', 'ServiceMonitor', 'PodMonitor', 'PrometheusRule', 'ConfigMap']
    expect(optional.flatMap(named)).toEqual([])
    const chosen = new Set((await resources(...EVERYTHING)).map(({ kind }) => kind))
    expect(optional.filter((kind) => !chosen.has(kind))).toEqual([])
  })

  test('configures the identity provider, with its secret from a file and the groups unchanged', async () => {
    const groups = { 'a,b="c"': { role: 'admin', namespaces: ['x'] }, ops: { approverGroups: ['sre'] } }
    const oidc = {
      issuer: 'https://idp.example.com',
      clientId: 'chaperone',
      clientSecret: { name: 'idp' },
      groups,
    }
    const given = [
      '--set-json',
      `controlPlane.oidc=${JSON.stringify(oidc)}`,
      '--set',
      'controlPlane.signIn=oidc',
    ]
    const pod = podsOf(await resources(...LEAST, ...given)).find(
      ({ name }) => name === 'Deployment chaperone-control-plane',
    )
    const env = Object.fromEntries(
      (pod?.spec.containers[0]?.env ?? []).map(({ name, value }) => [name, value]),
    )
    const required = { DATABASE_URL: 'postgres://u:p@h/db', MASTER_KEY: 'ab'.repeat(32) }
    const config = readConfig({ ...env, ...required, CODEHOST_PAT_NAMESPACES: '' })
    expect(config.isPasswordOn).toBe(false)
    expect(config.oidc).toMatchObject({ issuer: oidc.issuer, clientId: 'chaperone', groupsClaim: 'groups' })
    expect([...(config.oidc?.groups.keys() ?? [])].sort()).toEqual(Object.keys(groups).sort())
    expect(config.oidc?.clientSecretFile).toBe('/etc/chaperone/oidc/client.secret')
    expect(JSON.stringify(pod?.spec.volumes)).toContain('"secretName":"idp"')
    await expect(template(...LEAST, '--set', 'controlPlane.oidc.groups.x.role=owner')).rejects.toThrow(/role/)
    await expect(
      template(...LEAST, '--set', 'controlPlane.oidc.issuer=http://idp.example.com'),
    ).rejects.toThrow(/issuer/)
    await expect(
      template(...LEAST, '--set', 'controlPlane.oidc.issuer=https://idp.example.com'),
    ).rejects.toThrow(/clientId/)
  })

  test('exports records to the receiver of the values, whose port the network policy opens', async () => {
    const url = 'http://collector.observability.svc:4318/v1/logs'
    const given = [
      '--set-json',
      `controlPlane.recordExport=${JSON.stringify({ url, headersSecret: { name: 'otlp' } })}`,
      ...['--set', 'controlPlane.trafficRetentionHours=6'],
    ]
    const all = await resources(...LEAST, ...given)
    const pod = podsOf(all).find(({ name }) => name === 'Deployment chaperone-control-plane')
    const env = Object.fromEntries(
      (pod?.spec.containers[0]?.env ?? []).map(({ name, value }) => [name, value]),
    )
    const required = { DATABASE_URL: 'postgres://u:p@h/db', MASTER_KEY: 'ab'.repeat(32) }
    const config = readConfig({ ...env, ...required })
    expect(config.recordExport).toMatchObject({ url, headersFile: '/etc/chaperone/record-export/headers' })
    expect(config.trafficRetentionHours).toBe(6)
    expect(JSON.stringify(pod?.spec.volumes)).toContain('"secretName":"otlp"')
    const policyOf = (list: typeof all) =>
      JSON.stringify(
        list.find(
          ({ kind, metadata }) => kind === 'NetworkPolicy' && metadata.name === 'chaperone-control-plane',
        ),
      )
    expect(policyOf(all)).toContain('4318')
    const least = await resources(...LEAST)
    expect(policyOf(least)).not.toContain('4318')
    expect(JSON.stringify(podsOf(least))).not.toContain('RECORD_EXPORT')
    for (const wrong of ['collector:4318', 'http://collector:4318', 'http://u:p@collector:4318/v1/logs'])
      await expect(template(...LEAST, '--set', `controlPlane.recordExport.url=${wrong}`)).rejects.toThrow(
        /recordExport/,
      )
  })

  test('renders without the values that 0.1.0 did not have, as `helm upgrade --reuse-values` passes them', async () => {
    const without = ['recordExport', 'trafficRetentionHours'].map((name) => `controlPlane.${name}=null`)
    const all = await resources(...LEAST, '--set', without.join(','))
    expect(JSON.stringify(podsOf(all))).not.toMatch(/RECORD_EXPORT|TRAFFIC_RETENTION/)
  })

  test('adds certificate authorities to the trust of the control plane', async () => {
    const ofControlPlane = async (...given: string[]) => {
      const pods = podsOf(await resources(...LEAST, ...given))
      const { spec } = pods.find(({ name }) => name === 'Deployment chaperone-control-plane') ?? {}
      const [container] = spec?.containers ?? []
      const path = container?.env?.find(({ name }) => name === 'NODE_EXTRA_CA_CERTS')?.value
      return { path, volumes: JSON.stringify(spec?.volumes) }
    }
    const given = await ofControlPlane('--set', 'controlPlane.trustedCertificates.configMap=corporate-ca')
    expect(given.path).toBe('/etc/chaperone/trusted/ca.crt')
    expect(given.volumes).toContain('"name":"corporate-ca"')
    expect((await ofControlPlane()).path).toBeUndefined()
  })

  test('contains every generated CRD with the keep annotation, from the checkout and from the package', async () => {
    const generated = KINDS.map(({ plural }) =>
      parse(readFileSync(join(CHART, `../crds/chaperone.dev_${plural}.yaml`), 'utf8')),
    )
    const folder = mkdtempSync(join(tmpdir(), 'chaperone-chart-'))
    try {
      // A clone has the symbolic link of the chart to `crds`.
      cpSync(CHART, join(folder, 'helm'), { recursive: true, verbatimSymlinks: true })
      cpSync(join(CHART, '../crds'), join(folder, 'crds'), { recursive: true })
      await helm('package', join(folder, 'helm'), '--destination', folder)
      const archive = readdirSync(folder).find((name) => name.endsWith('.tgz')) ?? ''
      rmSync(join(folder, 'crds'), { recursive: true })
      for (const chart of [CHART, join(folder, archive)]) {
        const found = (await resourcesOf(chart, ...LEAST)).filter(
          ({ kind }) => kind === 'CustomResourceDefinition',
        )
        expect(found.map(({ metadata }) => metadata.name)).toEqual(
          KINDS.map(({ plural }) => `${plural}.chaperone.dev`).sort(),
        )
        for (const { metadata, spec } of found) {
          expect(metadata.annotations?.['helm.sh/resource-policy']).toBe('keep')
          expect(spec).toEqual(generated.find((crd) => crd.metadata.name === metadata.name)?.spec)
        }
      }
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  test('has only pods that conform to PodSecurity `restricted`, with a read-only root', async () => {
    const pods = podsOf(await resources(...EVERYTHING))
    expect(pods.length).toBeGreaterThanOrEqual(6)
    for (const { name, spec } of pods) {
      expect(spec.securityContext, name).toMatchObject({
        runAsNonRoot: true,
        seccompProfile: { type: 'RuntimeDefault' },
      })
      expect(spec.hostNetwork, name).toBeUndefined()
      for (const volume of spec.volumes ?? []) expect(volume, name).not.toHaveProperty('hostPath')
      for (const container of [...(spec.initContainers ?? []), ...spec.containers]) {
        expect(container.securityContext, `${name} ${container.name}`).toEqual({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        })
      }
    }
  })

  test('contains no secrets', async () => {
    const all = await resources(...EVERYTHING)
    expect(all.filter(({ kind }) => kind === 'Secret')).toEqual([])
    const variables = podsOf(all).flatMap(({ spec }) => spec.containers.flatMap(({ env = [] }) => env))
    const given = variables.filter(
      ({ name, value }) =>
        /SECRET|PASSWORD|TOKEN$|KEY$|DATABASE_URL/.test(name) &&
        !name.endsWith('_FILE') &&
        value !== undefined,
    )
    expect(given).toEqual([])
    for (const file of ['_names.tpl', 'setup/job.yaml']) {
      expect(readFileSync(join(CHART, 'templates', file), 'utf8')).not.toMatch(
        /rand(Alpha|Ascii|Numeric|Bytes)|gen(CA|Signed|Self|Private)|lookup/,
      )
    }
  })

  test('authenticates the operator by a projected token, not by a shared one', async () => {
    const pods = podsOf(await resources(...EVERYTHING, '-n', 'elsewhere'))
    const pod = (name: string) => pods.find((each) => each.name === `Deployment ${name}`)?.spec
    const value = (name: string, variable: string) =>
      pod(name)?.containers[0]?.env?.find((each) => each.name === variable)?.value
    const token = { audience: TOKEN_AUDIENCE, expirationSeconds: TOKEN_TTL_S, path: 'token' }
    const volume = pod('chaperone-operator')?.volumes?.find((each) => each['name'] === 'token')
    expect(volume).toMatchObject({ projected: { sources: [{ serviceAccountToken: token }] } })
    expect(value('chaperone-operator', 'OPERATOR_TOKEN_FILE')).toBe('/etc/chaperone/operator/token')
    expect(value('chaperone-control-plane', 'OPERATOR_SERVICE_ACCOUNT')).toBe('elsewhere/chaperone-operator')
    expect(value('chaperone-control-plane', 'OPERATOR_TOKEN_FILE')).toBeUndefined()
    expect(JSON.stringify(pod('chaperone-operator')?.volumes)).not.toContain('chaperone-keys')
  })

  test('restricts the pre-upgrade job by the ports of the new version', async () => {
    const all = await resources(...LEAST, '--set', 'networkPolicy.apiServerPorts={7443}')
    const setup = all.find(
      ({ kind, metadata }) => kind === 'NetworkPolicy' && metadata.name === 'chaperone-setup',
    )
    expect(setup?.metadata.annotations).toMatchObject({
      'helm.sh/hook': 'pre-install,pre-upgrade',
      'helm.sh/hook-weight': '-20',
    })
    expect(JSON.stringify(setup?.spec)).toContain('7443')
    const jobs = all.find(
      ({ kind, metadata }) => kind === 'NetworkPolicy' && metadata.name === 'chaperone-jobs',
    )
    expect(JSON.stringify(jobs?.spec)).not.toContain('setup')
    const none = await resources(...LEAST, '--set', 'networkPolicy.enabled=false')
    expect(none.filter(({ kind }) => kind === 'NetworkPolicy')).toEqual([])
  })

  test('grants no wildcards, and no cluster-wide access to Secrets', async () => {
    const all = await resources(...EVERYTHING)
    for (const [owner, rule] of rulesOf(all)) {
      expect([...rule.apiGroups, ...rule.resources, ...rule.verbs], owner).not.toContain('*')
    }
    const bound = new Set(
      all
        .filter(({ kind }) => kind === 'ClusterRoleBinding')
        .map((binding) => (binding as unknown as { roleRef: { name: string } }).roleRef.name),
    )
    const wide = all.filter(({ kind, metadata }) => kind === 'ClusterRole' && bound.has(metadata.name))
    expect(wide.length).toBeGreaterThan(1)
    for (const [owner, rule] of rulesOf(wide)) expect(rule.resources, owner).not.toContain('secrets')
  })

  test('lets the operator read pods, and the control plane only create reviews, get the owner link, the token of the owner and the CAs of client certificates', async () => {
    const all = await resources(...EVERYTHING)
    const ofRole = (name: string) =>
      rulesOf(all.filter(({ kind, metadata }) => /Role$/.test(kind) && metadata.name === name)).map(
        ([, rule]) => rule,
      )
    expect(ofRole('chaperone-control-plane')).toEqual([
      { apiGroups: ['authentication.k8s.io'], resources: ['tokenreviews'], verbs: ['create'] },
      { apiGroups: ['authorization.k8s.io'], resources: ['subjectaccessreviews'], verbs: ['create'] },
      {
        apiGroups: [''],
        resources: ['secrets'],
        resourceNames: ['chaperone-owner-link', 'chaperone-keys'],
        verbs: ['get'],
      },
    ])
    const bindings = all.filter(({ kind }) => /RoleBinding$/.test(kind)) as unknown as ReadonlyArray<{
      readonly roleRef: { readonly name: string }
      readonly subjects: ReadonlyArray<{ readonly name: string }>
    }>
    const roles = bindings
      .filter(({ subjects }) => subjects.some(({ name }) => name === 'chaperone-control-plane'))
      .map(({ roleRef }) => roleRef.name)
    expect([...new Set(roles)]).toEqual([
      'chaperone-control-plane',
      'extension-apiserver-authentication-reader',
    ])
    const onPods = ofRole('chaperone-operator').filter((rule) => rule.resources.includes('pods'))
    expect(new Set(onPods.flatMap(({ verbs }) => verbs))).toEqual(new Set(['get', 'list', 'watch']))
  })

  test('allows edits in the dashboard, and manifests only in production', async () => {
    const editing = async (...values: string[]) =>
      (await template(...LEAST, ...values)).match(/name: DASHBOARD_EDITING, value: "(\w+)"/)?.[1]
    const production = new URL('../../helm/values.production.yaml', import.meta.url).pathname
    expect(await editing()).toBe('rows')
    expect(await editing('-f', production)).toBe('yaml')
  })

  test('passes floors and platform namespaces to control plane and operator', async () => {
    const values = ['--set', 'floors.enforcementLevel=full_enforce,platformNamespaces={platform}']
    const text = await template(...LEAST, ...values)
    const of = (name: string) => text.match(new RegExp(`name: ${name}, value: ('|").*`, 'g')) ?? []
    expect(of('GATEWAY_FLOORS')).toHaveLength(2)
    expect(new Set(of('GATEWAY_FLOORS')).size).toBe(1)
    expect(of('GATEWAY_FLOORS')[0]).toContain('full_enforce')
    expect(of('PLATFORM_NAMESPACES').map((line) => line.includes('"platform"'))).toEqual([true, true])
    const byDefault = (await template(...LEAST)).match(/name: PLATFORM_NAMESPACES, value: "([^"]*)"/g)
    expect(byDefault).toHaveLength(2)
    for (const line of byDefault ?? []) expect(line).toContain('"chaperone-system"')
  })

  test('lists the directories for files of credentials to the control plane, and none by default', async () => {
    const values = async (...set: string[]) =>
      [...(await template(...LEAST, ...set)).matchAll(/name: CREDENTIAL_FILE_DIRS, value: "([^"]*)"/g)].map(
        ([, value]) => value,
      )
    expect(await values()).toEqual([])
    const dirs = 'controlPlane.credentialFileDirs={/mnt/credentials,/mnt/other}'
    expect(await values('--set', dirs)).toEqual(['/mnt/credentials,/mnt/other'])
    await expect(values('--set', 'controlPlane.credentialFileDirs={mnt}')).rejects.toThrow(
      'credentialFileDirs',
    )
  })

  test('grants access to Secrets only in the configured namespaces', async () => {
    const bindings = (all: readonly Resource[]) =>
      all
        .filter(({ kind, metadata }) => kind === 'RoleBinding' && metadata.name === 'chaperone-secret-reader')
        .map(({ metadata }) => metadata.namespace)
    expect(bindings(await resources(...LEAST))).toEqual([])
    expect(bindings(await resources(...LEAST, '--set', 'secretNamespaces={team-a,team-b}'))).toEqual([
      'team-a',
      'team-b',
    ])
  })

  test('grants the operator and the uninstaller exactly the existing admission policies', async () => {
    const all = await resources(...LEAST)
    const names = (role: string, resource: string) =>
      rulesOf(all.filter(({ kind, metadata }) => kind === 'ClusterRole' && metadata.name === role))
        .filter(([, { resources: each, verbs }]) => each.includes(resource) && !verbs.includes('get'))
        .flatMap(([, rule]) => rule.resourceNames ?? [])
        .sort()
    const policies = guardNames()
      .filter(({ kind }) => kind === 'ValidatingAdmissionPolicy')
      .map(({ name }) => name)
      .sort()
    for (const role of ['chaperone-operator', 'chaperone-uninstall']) {
      expect(names(role, 'validatingadmissionpolicies')).toEqual(policies)
      expect(names(role, 'validatingadmissionpolicybindings')).toEqual(policies)
      expect(names(role, 'mutatingwebhookconfigurations')).toEqual([WEBHOOK_CONFIGURATION])
      expect(names(role, 'validatingwebhookconfigurations')).toEqual([MANIFESTS_CONFIGURATION])
    }
  })

  test('gives the resource attributes of OpenTelemetry to operator and control plane, and none by default', async () => {
    const given = async (...args: readonly string[]) =>
      (await resources(...LEAST, ...args)).flatMap(({ kind, metadata, spec }) =>
        kind === 'Deployment' && JSON.stringify(spec).includes('OTEL_RESOURCE_ATTRIBUTES')
          ? [[metadata.name, /"OTEL_RESOURCE_ATTRIBUTES","value":"([^"]*)"/.exec(JSON.stringify(spec))?.[1]]]
          : [],
      )
    expect(await given()).toEqual([])
    const attributes = { team: 'a,b=c d', 'k8s.cluster.name': 'prod-1' }
    const set = ['--set-json', `openTelemetry.resourceAttributes=${JSON.stringify(attributes)}`]
    const value = 'k8s.cluster.name=prod-1,team=a%2Cb%3Dc%20d'
    expect((await given(...set)).sort()).toEqual([
      ['chaperone-control-plane', value],
      ['chaperone-operator', value],
    ])
    expect(resourceFields({ OTEL_RESOURCE_ATTRIBUTES: value }).mixin?.().resource).toEqual(attributes)
  })

  test('contains the alerts of the file as a PrometheusRule', async () => {
    const rules = (await resources(...EVERYTHING)).filter(({ kind }) => kind === 'PrometheusRule')
    expect(rules.map(({ spec }) => spec)).toEqual([
      parse(readFileSync(join(CHART, 'files/alerts.yaml'), 'utf8')),
    ])
  })

  test('alerts on broken policies of the platform team, not of tenants', async () => {
    const rules = (await resources(...EVERYTHING)).filter(({ kind }) => kind === 'PrometheusRule')
    const asked = JSON.stringify(rules).match(/\{[^{}]*svc_policies_invalid[^{}]*\{[^{}]*\}[^{}]*\{[^{}]*\}/g)
    expect(asked).toHaveLength(1)
    expect(asked?.[0]).toContain('"alert":"ChaperonePlatformPolicyInvalid"')
    expect(asked?.[0]).toContain('max(svc_policies_invalid{tier=\\"platform\\"}) > 0')
    expect(asked?.[0]).toContain('"severity":"critical"')
  })

  test('removes webhook configurations and admission policies first, and no custom resource', async () => {
    const hooks = (await resources(...LEAST)).filter(
      ({ metadata }) => metadata.annotations?.['helm.sh/hook'] === 'pre-delete',
    )
    expect(hooks.map(({ kind }) => kind)).toContain('Job')
    for (const [owner, rule] of rulesOf(hooks)) {
      if (rule.apiGroups.includes('chaperone.dev')) expect(rule.verbs, owner).not.toContain('delete')
    }
  })
})

function rulesOf(all: readonly Resource[]): ReadonlyArray<readonly [string, Rule]> {
  return all.flatMap(({ kind, metadata, rules = [] }) =>
    rules.map((rule) => [`${kind} ${metadata.name}`, rule] as const),
  )
}
