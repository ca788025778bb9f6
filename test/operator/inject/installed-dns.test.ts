import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { readInjectionConfig } from '../../../operator/inject/config.ts'
import { installedDns } from '../../../operator/inject/installed-dns.ts'

const UNSET = { resolvers: [], clusterDomain: null, searchDomains: [] }
let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'installed-dns-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

function resolvConf(text: string): string {
  const file = join(folder, 'resolv.conf')
  writeFileSync(file, text)
  return file
}

describe('the DNS of sidecars', () => {
  it('is that of the operator’s pod', async () => {
    const file = resolvConf(
      'search chaperone-system.svc.example.net svc.example.net example.net\nnameserver 10.96.0.10\nnameserver fd00::10\noptions ndots:5\n',
    )
    expect(await installedDns(UNSET, file)).toEqual({
      resolvers: ['10.96.0.10', 'fd00::10'],
      clusterDomain: 'example.net',
      searchDomains: [],
    })
  })

  it('has the search domains of the node, which the kubelet adds to those of the cluster', async () => {
    const file = resolvConf(
      'search chaperone-system.svc.cluster.local svc.cluster.local cluster.local EC2.internal corp.example\nnameserver 10.96.0.10\n',
    )
    const { searchDomains } = await installedDns(UNSET, file)
    expect(searchDomains).toEqual(['corp.example', 'ec2.internal'])
    const other = await installedDns({ ...UNSET, clusterDomain: 'corp.example' }, file)
    expect(other.searchDomains).toEqual(['ec2.internal'])
    const env = { SIDECAR_IMAGE: 'image', SIDECAR_SEARCH_DOMAINS: 'C.Project.internal., google.internal' }
    const given = await installedDns(readInjectionConfig(env).dns, file)
    expect(given.searchDomains).toEqual(['c.project.internal', 'google.internal'])
    const bad = { SIDECAR_IMAGE: 'image', SIDECAR_SEARCH_DOMAINS: "a'b" }
    expect(() => readInjectionConfig(bad)).toThrow('SIDECAR_SEARCH_DOMAINS has')
  })

  it('is what the installation names, whatever the operator’s pod has', async () => {
    const file = resolvConf('search a.svc.one svc.one\nnameserver 10.96.0.10\n')
    const env = {
      SIDECAR_IMAGE: 'image',
      SIDECAR_DNS_RESOLVERS: '192.0.2.1, [2001:db8::1]:5353',
      SIDECAR_CLUSTER_DOMAIN: 'two',
    }
    expect(await installedDns(readInjectionConfig(env).dns, file)).toEqual({
      resolvers: ['192.0.2.1', '[2001:db8::1]:5353'],
      clusterDomain: 'two',
      searchDomains: [],
    })
  })

  it('is never a server on a loopback address, which would be the pod itself', async () => {
    const file = resolvConf('nameserver 127.0.0.53\nnameserver ::1\n')
    await expect(installedDns(UNSET, file)).rejects.toThrow('SIDECAR_DNS_RESOLVERS is not set')
    await expect(installedDns(UNSET, join(folder, 'none'))).rejects.toThrow('such as 10.96.0.10')
  })

  it.each(['dns.example.net', '10.96.0.10:dns', '10.96.0'])(
    'is no name and no broken address (%s)',
    (server) => {
      expect(() => readInjectionConfig({ SIDECAR_IMAGE: 'image', SIDECAR_DNS_RESOLVERS: server })).toThrow(
        'SIDECAR_DNS_RESOLVERS has',
      )
    },
  )
})
