import { describe, expect, test } from 'vitest'
import {
  nodeSearchDomains,
  podSearchDomains,
  searchDomains,
  withoutSearchDomain,
} from '../../../core/capture/search-names.ts'

const DOMAINS = ['team.svc.cluster.local', 'svc.cluster.local', 'cluster.local']

describe('the search domains of a resolver', () => {
  test('are those of the last search or domain line', () => {
    const text =
      'nameserver 10.0.0.1\ndomain old.test\nsearch Team.svc.cluster.local. svc.cluster.local\tcluster.local \n'
    expect(searchDomains(text)).toEqual(DOMAINS)
    expect(searchDomains('nameserver 10.0.0.1\noptions ndots:5\n# search x.test')).toEqual([])
    expect(searchDomains('search .\n')).toEqual([])
  })

  test('are those of the namespace where only the cluster chooses them', () => {
    const cluster = { clusterDomain: 'Cluster.local.', searchDomains: [] }
    expect(podSearchDomains('team', cluster)).toEqual(DOMAINS)
  })

  test('also are those of the node, which the kubelet appends', () => {
    const all = [
      ...DOMAINS,
      'ec2.internal',
      'c.project.internal',
      'xcluster.local',
      'ec2.internal',
      "o'hara.test",
    ]
    const ofNode = nodeSearchDomains(all, 'cluster.local')
    expect(ofNode).toEqual(['c.project.internal', 'ec2.internal', 'xcluster.local'])
    const domains = podSearchDomains('team', { clusterDomain: 'cluster.local', searchDomains: ofNode })
    expect(withoutSearchDomain('api.example.com.ec2.internal', domains)).toBe('api.example.com')
  })

  test.each([
    ['api.example.com.team.svc.cluster.local', 'api.example.com'],
    ['api.example.com.svc.cluster.local', 'api.example.com'],
    ['api.example.com.cluster.local', 'api.example.com'],
    ['api.example.com', 'api.example.com'],
    ['db.team.svc.cluster.local', 'db.team.svc.cluster.local'],
    ['team.svc.cluster.local', 'team.svc.cluster.local'],
    ['xcluster.local', 'xcluster.local'],
  ])('are taken off %s', (asked, name) => {
    expect(withoutSearchDomain(asked, DOMAINS)).toBe(name)
    expect(withoutSearchDomain(asked, [])).toBe(asked)
  })
})
