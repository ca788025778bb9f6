import { describe, expect, test } from 'vitest'
import { readInjectionConfig } from '../../operator/inject/config.ts'
import { serviceHosts } from '../../operator/webhook/injector.ts'
import { helmProgram, LEAST, podsOf, type Resource, resources, template } from './chart.ts'

const CERT_MANAGER = [...LEAST, '--set', 'certManager.enabled=true']

function certificateSecret(all: readonly Resource[]): string | null {
  const pod = podsOf(all).find(({ name }) => name === 'Deployment chaperone-operator')
  const env = (pod?.spec.containers[0]?.env ?? []).map(({ name, value }) => [name, value])
  return readInjectionConfig(Object.fromEntries(env)).certificateSecret
}

const secretRules = (all: readonly Resource[]) =>
  (all.find(({ kind, metadata }) => kind === 'Role' && metadata.name === 'chaperone-operator')?.rules ?? [])
    .filter((rule) => rule.resources.includes('secrets'))
    .map(({ resourceNames = [], verbs }) => [...resourceNames, ...verbs].join(' '))

describe.skipIf(helmProgram === null)('the certificate of the webhook (helm)', () => {
  test('comes from the operator by default, and without resources of cert-manager', async () => {
    const all = await resources(...LEAST)
    expect(all.filter(({ apiVersion }) => apiVersion.startsWith('cert-manager.io'))).toEqual([])
    expect(certificateSecret(all)).toBeNull()
    expect(secretRules(all)).toEqual(['chaperone-webhook-ca get update', 'create'])
  })

  test('comes from cert-manager for the names that the API server calls, and the operator may only read it', async () => {
    const all = await resources(...CERT_MANAGER)
    const found = new Map(
      all
        .filter(({ apiVersion }) => apiVersion === 'cert-manager.io/v1')
        .map(({ kind, metadata, spec = {} }) => [`${kind} ${metadata.name}`, spec]),
    )
    expect([...found.keys()].sort()).toEqual([
      'Certificate chaperone-webhook',
      'Certificate chaperone-webhook-ca',
      'Issuer chaperone-self-signed',
      'Issuer chaperone-webhook',
    ])
    const leaf = found.get('Certificate chaperone-webhook')
    expect(leaf).toMatchObject({
      dnsNames: serviceHosts('chaperone-webhook', 'chaperone-system'),
      issuerRef: { kind: 'Issuer', name: 'chaperone-webhook' },
    })
    const authority = found.get('Certificate chaperone-webhook-ca')
    expect(found.get('Issuer chaperone-webhook')).toEqual({ ca: { secretName: authority?.['secretName'] } })
    expect(certificateSecret(all)).toBe(leaf?.['secretName'])
    expect(secretRules(all)).toEqual([`${leaf?.['secretName']} get`])
  })

  test('comes from an issuer of the cluster', async () => {
    const issuerRef = { name: 'corporate', kind: 'ClusterIssuer', group: 'cert-manager.io' }
    const all = await resources(
      ...CERT_MANAGER,
      '--set-json',
      `certManager.issuerRef=${JSON.stringify(issuerRef)}`,
    )
    const made = all.filter(({ apiVersion }) => apiVersion.startsWith('cert-manager.io'))
    expect(made.map(({ kind, metadata }) => `${kind} ${metadata.name}`)).toEqual([
      'Certificate chaperone-webhook',
    ])
    expect(made[0]?.spec).toMatchObject({ issuerRef })
    await expect(template(...CERT_MANAGER, '--set', 'certManager.duration=forever')).rejects.toThrow(
      /duration/,
    )
  })

  test('for the host of the dashboard comes from an issuer of the cluster, and the control plane serves it beside its own', async () => {
    const publicHost = [
      '--set',
      'controlPlane.publicUrl=https://chaperone.example.com:8443,controlPlane.tlsSecret=public-tls',
    ]
    const certificates = (all: readonly Resource[]) =>
      all.filter(
        ({ kind, metadata }) => kind === 'Certificate' && metadata.name === 'chaperone-control-plane',
      )
    const issuer = ['--set', 'certManager.issuerRef.name=corporate']
    const all = await resources(...CERT_MANAGER, ...issuer, ...publicHost)
    expect(certificates(all).map(({ spec }) => spec)).toEqual([
      expect.objectContaining({
        secretName: 'public-tls',
        dnsNames: ['chaperone.example.com'],
        issuerRef: expect.objectContaining({ name: 'corporate' }),
      }),
    ])
    for (const found of [all, await resources(...LEAST, ...publicHost)]) {
      const pod = podsOf(found).find(({ name }) => name === 'Deployment chaperone-control-plane')
      const env = new Map(pod?.spec.containers[0]?.env?.map(({ name, value }) => [name, value]))
      expect([env.get('TLS_CERT_FILE'), env.get('TLS_KEY_FILE')]).toEqual([
        '/etc/chaperone/tls/tls.crt',
        '/etc/chaperone/tls/tls.key',
      ])
      expect(env.get('TLS_HOSTS')).not.toContain('chaperone.example.com')
      expect(JSON.stringify(pod?.spec)).toContain('"secretName":"public-tls"')
    }
    expect(certificates(await resources(...LEAST, ...publicHost))).toEqual([])
    expect(certificates(await resources(...CERT_MANAGER, ...issuer))).toEqual([])
    await expect(template(...LEAST, '--set', 'controlPlane.tlsSecret=public-tls')).rejects.toThrow(
      /publicUrl is empty/,
    )
  })
})
