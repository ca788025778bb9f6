import { describe, expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { GatewaySpec } from '../../../../core/crd/gateway/gateway-spec.ts'
import { unownedHostManifests } from '../../../../core/crd/manifests/unowned-host-manifests.ts'
import { ManifestResource } from '../../../../core/crd/schemas.ts'

const FACTS = {
  host: 'api.example.com',
  port: 443,
  gateway: 'default/local',
  agents: ['dev'],
  isOtherProtocol: false,
}

function manifests(over: Partial<typeof FACTS>) {
  const { connector, egress } = unownedHostManifests({ ...FACTS, ...over })
  const documents = parseAllDocuments(connector ?? '').map((document) =>
    ManifestResource.parse(document.toJS()),
  )
  return { documents, egress: GatewaySpec.parse(parse(egress).spec).egress, text: egress }
}

describe('the manifests for a host that no connector owns', () => {
  test('are a Connector with the permission to read, and a line of the egress list, all of them valid', () => {
    const { documents, egress, text } = manifests({})
    expect(documents).toMatchObject([
      { kind: 'Connector', metadata: { name: 'api.example.com', namespace: 'default' } },
      { kind: 'Permission', spec: { gatewayRefs: [{ name: 'local' }], agents: ['*'] } },
    ])
    expect(documents[0]?.spec).toMatchObject({
      domains: ['api.example.com'],
      ports: [443],
      auth: { type: 'none' },
    })
    expect(egress.allowedHosts).toEqual(['api.example.com'])
    expect(text).toContain('Gateway default/local')
  })

  test('name the port where it is another one', () => {
    const { documents, egress } = manifests({ port: 4319 })
    expect(documents[0]?.spec).toMatchObject({ ports: [4319] })
    expect(egress.allowedHosts).toEqual(['api.example.com:4319'])
  })

  test.each([
    ['203.0.113.7', '203.0.113.7:8443'],
    ['2001:db8::7', '[2001:db8::7]:8443'],
  ])('have no Connector for the address %s', (host, entry) => {
    const { documents, egress } = manifests({ host, port: 8443 })
    expect(documents).toEqual([])
    expect(egress.allowedHosts).toEqual([entry])
  })

  test('are a line of egress.tcp where the connection spoke another protocol', () => {
    const { documents, egress } = manifests({ host: 'db.example.com', port: 5432, isOtherProtocol: true })
    expect(documents).toEqual([])
    expect(egress.tcp).toMatchObject([{ host: 'db.example.com', port: 5432 }])
  })

  test('are of the namespace of the agents, and refer to a Gateway of another one', () => {
    const shared = { gateway: 'platform/shared' }
    const [guest] = manifests({ ...shared, agents: ['team/bot', 'team/other'] }).documents
    expect(guest).toMatchObject({
      metadata: { namespace: 'team' },
      spec: { gatewayRefs: [{ name: 'shared', namespace: 'platform' }] },
    })
    const [several] = manifests({ ...shared, agents: ['team/bot', 'other/bot'] }).documents
    expect(several).toMatchObject({
      metadata: { namespace: 'platform' },
      spec: { gatewayRefs: [{ name: 'shared' }] },
    })
  })

  test.each(['a_b.example', `${'x'.repeat(80)}.example`, '-.example', 'UPPER.example'])(
    'have a valid name for %s',
    (host) => {
      const name = parseAllDocuments(unownedHostManifests({ ...FACTS, host }).connector ?? '')[0]?.toJS()
        .metadata.name
      expect(name).toMatch(/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/)
    },
  )
})
