import { describe, expect, test } from 'vitest'
import { readConfig } from '../../controlplane/config.ts'
import { readInjectionConfig } from '../../operator/inject/config.ts'
import { helmProgram, LEAST, podsOf, type Resource, resources, template } from './chart.ts'

/** The settings of a component, in the form of the values file. */
const SETTINGS = {
  affinity: { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [] } },
  nodeSelector: { disk: 'ssd' },
  tolerations: [{ key: 'agents', operator: 'Exists' }],
  topologySpreadConstraints: [{ maxSkew: 2, topologyKey: 'rack', whenUnsatisfiable: 'DoNotSchedule' }],
  podAnnotations: { 'example.com/owner': 'platform' },
  podLabels: { team: 'platform' },
  priorityClassName: 'important',
  serviceAccount: {
    create: true,
    name: 'governance',
    annotations: { 'eks.amazonaws.com/role-arn': 'arn:1' },
  },
  podDisruptionBudget: { maxUnavailable: '50%' },
  extraEnv: [{ name: 'EXTRA', value: 'yes' }],
  extraVolumes: [{ name: 'extra', emptyDir: {} }],
  extraVolumeMounts: [{ name: 'extra', mountPath: '/extra' }],
  extraContainers: [{ name: 'helper', image: 'helper:1' }],
  resources: { requests: { cpu: '7m' } },
}
const COMPONENTS = [
  ['operator', 'chaperone-operator'],
  ['controlPlane', 'chaperone-control-plane'],
] as const

type Spec = Readonly<Record<string, unknown>> & {
  readonly containers: ReadonlyArray<Readonly<Record<string, unknown>>>
}
const given = (path: string, value: unknown) => ['--set-json', `${path}=${JSON.stringify(value)}`]
const named = (all: readonly Resource[], kind: string, name: string) =>
  all.find((each) => each.kind === kind && each.metadata.name === name)
const env = (all: readonly Resource[], deployment: string) => {
  const pod = podsOf(all).find(({ name }) => name === `Deployment ${deployment}`)
  return Object.fromEntries((pod?.spec.containers[0]?.env ?? []).map(({ name, value }) => [name, value]))
}

describe.skipIf(helmProgram === null)('the workloads of the chart (helm)', () => {
  test.each(COMPONENTS)('%s has every setting of a pod', async (values, name) => {
    const all = await resources(...LEAST, ...given(values, SETTINGS))
    const deployment = named(all, 'Deployment', name)
    const template = deployment?.spec?.['template'] as { metadata: object; spec: Spec }
    expect(template.metadata).toMatchObject({
      annotations: SETTINGS.podAnnotations,
      labels: { team: 'platform', 'app.kubernetes.io/part-of': 'chaperone' },
    })
    const { affinity, nodeSelector, tolerations, topologySpreadConstraints, priorityClassName } = SETTINGS
    expect(template.spec).toMatchObject({
      ...{ affinity, nodeSelector, tolerations, topologySpreadConstraints, priorityClassName },
      serviceAccountName: 'governance',
    })
    const [main, helper] = template.spec.containers
    expect(helper).toEqual(SETTINGS.extraContainers[0])
    expect(main).toMatchObject({ resources: { requests: { cpu: '7m' } } })
    expect(main?.['env']).toContainEqual(SETTINGS.extraEnv[0])
    expect(main?.['volumeMounts']).toContainEqual(SETTINGS.extraVolumeMounts[0])
    expect(template.spec['volumes']).toContainEqual(SETTINGS.extraVolumes[0])
    expect(named(all, 'PodDisruptionBudget', name)?.spec).toMatchObject({ maxUnavailable: '50%' })
    const account = named(all, 'ServiceAccount', 'governance')
    expect(account?.metadata.annotations).toEqual(SETTINGS.serviceAccount.annotations)
    const bindings = all.filter(({ kind, metadata }) => /RoleBinding$/.test(kind) && metadata.name === name)
    expect(bindings.length).toBeGreaterThanOrEqual(2)
    for (const binding of bindings)
      expect(binding).toMatchObject({ subjects: [{ kind: 'ServiceAccount', name: 'governance' }] })
  })

  test('the control plane accepts the token of the ServiceAccount that the operator has', async () => {
    const account = given('operator.serviceAccount', { create: false, name: 'governance' })
    const all = await resources(...LEAST, ...account)
    expect(env(all, 'chaperone-control-plane')['OPERATOR_SERVICE_ACCOUNT']).toBe(
      'chaperone-system/governance',
    )
    expect(env(all, 'chaperone-operator')['OPERATOR_SERVICE_ACCOUNT']).toBe('governance')
    expect(named(all, 'ServiceAccount', 'governance')).toBeUndefined()
    expect(named(all, 'ServiceAccount', 'chaperone-operator')).toBeUndefined()
    await expect(template(...LEAST, ...given('operator.serviceAccount', { create: false }))).rejects.toThrow(
      /Set the name of an existing ServiceAccount/,
    )
  })

  test.each([
    ['an unknown setting of a pod', 'operator.podAnnotation={}'],
    ['a label that selects', 'operator.podLabels={"app.kubernetes.io/component":"x"}'],
    ['an annotation of the injector', 'controlPlane.podAnnotations={"chaperone.dev/gateway":"x"}'],
    ['an affinity that is none', 'controlPlane.affinity={"podAntiAfinity":{}}'],
    ['a variable without a name', 'controlPlane.extraEnv=[{"nam":"X","value":"y"}]'],
    ['a budget that is none', 'operator.podDisruptionBudget={"minAvailable":"half"}'],
    ['a proxy without a scheme', 'controlPlane.egressProxy={"url":"proxy:3128"}'],
    ['an unknown setting of the route', 'controlPlane.httpRoute={"hostnames":["x"]}'],
    ['an unknown setting of the database', 'database.caSecret={"file":"x"}'],
    ['a Secret that is none', 'sidecar.imagePullSecrets=["Not A Name"]'],
  ])('the schema refuses %s', async (_what, value) => {
    await expect(template(...LEAST, '--set-json', value)).rejects.toThrow(
      /values don't meet the specification/,
    )
  })

  test('image.digest pins the images of the chart and of the sidecars', async () => {
    const digest = `sha256:${'ab'.repeat(32)}`
    const all = await resources(
      ...LEAST,
      '--set',
      `image.repository=registry.example/c,image.digest=${digest}`,
    )
    const images = podsOf(all).flatMap(({ spec }) => [...(spec.initContainers ?? []), ...spec.containers])
    expect(new Set(images.map(({ image }) => image))).toEqual(new Set([`registry.example/c@${digest}`]))
    expect(env(all, 'chaperone-operator')['SIDECAR_IMAGE']).toBe(`registry.example/c@${digest}`)
  })

  test('the operator receives the pull secrets and the pull policy of sidecars', async () => {
    const sidecar = { imagePullSecrets: ['registry', 'mirror'], imagePullPolicy: 'Always' }
    const all = await resources(...LEAST, ...given('sidecar', sidecar))
    expect(readInjectionConfig(env(all, 'chaperone-operator')).images).toMatchObject({
      ...{ pullSecrets: ['registry', 'mirror'], pullPolicy: 'Always' },
    })
    const byDefault = readInjectionConfig(env(await resources(...LEAST), 'chaperone-operator')).images
    expect(byDefault).toMatchObject({ pullSecrets: [], pullPolicy: 'IfNotPresent' })
  })

  test('the control plane receives the files of the database Secrets, and its proxy', async () => {
    const values = [
      ...given('database', {
        urlSecret: { name: 'db' },
        caSecret: { name: 'db-ca', key: 'bundle.pem' },
        clientCertificateSecret: { name: 'db-client' },
      }),
      ...given('controlPlane.egressProxy', {
        url: 'http://proxy:3128',
        noProxy: ['.internal', '10.0.0.0/8'],
      }),
    ]
    const all = await resources(...values)
    const required = { DATABASE_URL: 'postgres://u:p@h/db', MASTER_KEY: 'ab'.repeat(32) }
    const config = readConfig({ ...env(all, 'chaperone-control-plane'), ...required })
    const [caFolder, certFolder] = ['/etc/chaperone/database-ca', '/etc/chaperone/database-certificate']
    expect(config.databaseTls).toEqual({
      caFile: `${caFolder}/ca.crt`,
      certFile: `${certFolder}/tls.crt`,
      keyFile: `${certFolder}/tls.key`,
    })
    expect(config.egressProxy).toMatchObject({
      https: 'http://proxy:3128',
      direct: ['.internal', '10.0.0.0/8'],
    })
    const pod = podsOf(all).find(({ name }) => name === 'Deployment chaperone-control-plane')?.spec
    const secret = (secretName: string, ...items: Array<{ key: string; path: string }>) => ({
      secret: expect.objectContaining({ secretName, items }),
    })
    expect(pod?.volumes).toContainEqual({
      ...{ name: 'database-ca', ...secret('db-ca', { key: 'bundle.pem', path: 'ca.crt' }) },
    })
    expect(pod?.volumes).toContainEqual({
      name: 'database-certificate',
      ...secret('db-client', { key: 'tls.crt', path: 'tls.crt' }, { key: 'tls.key', path: 'tls.key' }),
    })
    const mounts = (pod?.containers[0] as Spec['containers'][number] | undefined)?.['volumeMounts']
    for (const [name, mountPath] of [
      ['database-ca', caFolder],
      ['database-certificate', certFolder],
    ])
      expect(mounts).toContainEqual({ name, mountPath, readOnly: true })
    const policy = named(all, 'NetworkPolicy', 'chaperone-control-plane')
    expect(JSON.stringify(policy?.spec)).toContain('"port":3128')
  })

  test('an Ingress or an HTTPRoute publishes the dashboard under the host of its URL', async () => {
    const values = {
      publicUrl: 'https://chaperone.example.com',
      ingress: { enabled: true, className: 'public', tlsSecret: 'tls' },
      httpRoute: { enabled: true, parentRefs: [{ name: 'public', namespace: 'networking' }] },
    }
    const all = await resources(...LEAST, ...given('controlPlane', values))
    const service = { name: 'chaperone-control-plane', port: { name: 'https' } }
    expect(named(all, 'Ingress', 'chaperone-control-plane')?.spec).toEqual({
      ingressClassName: 'public',
      tls: [{ hosts: ['chaperone.example.com'], secretName: 'tls' }],
      rules: [
        {
          host: 'chaperone.example.com',
          http: { paths: [{ path: '/', pathType: 'Prefix', backend: { service } }] },
        },
      ],
    })
    expect(named(all, 'HTTPRoute', 'chaperone-control-plane')?.spec).toMatchObject({
      parentRefs: values.httpRoute.parentRefs,
      hostnames: ['chaperone.example.com'],
      rules: [{ backendRefs: [{ name: 'chaperone-control-plane', port: 443 }] }],
    })
    // The host is one of those that the certificate of the control plane names.
    const hostname = 'chaperone-control-plane.chaperone-system.svc'
    expect(named(all, 'BackendTLSPolicy', 'chaperone-control-plane')?.spec).toMatchObject({
      validation: { hostname, caCertificateRefs: [{ name: 'chaperone-control-plane-authority' }] },
    })
    expect(env(all, 'chaperone-control-plane')['TLS_HOSTS']?.split(',')).toContain(hostname)
    for (const route of ['ingress', 'httpRoute'])
      await expect(template(...LEAST, '--set', `controlPlane.${route}.enabled=true`)).rejects.toThrow(
        /publicUrl/,
      )
  })
})
