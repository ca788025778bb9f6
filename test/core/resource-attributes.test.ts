import { expect, test } from 'vitest'
import { resourceFields } from '../../core/resource-attributes.ts'

const of = (text: string) => resourceFields({ OTEL_RESOURCE_ATTRIBUTES: text }).mixin?.().resource

test('resource attributes are read as OpenTelemetry specifies', () => {
  expect(of('k8s.cluster.name=prod-1, team=a%2Cb%3Dc')).toEqual({
    'k8s.cluster.name': 'prod-1',
    team: 'a,b=c',
  })
  expect(of('empty=')).toEqual({ empty: '' })
})

test.each([undefined, '', ' ', 'name', '=value', 'a=1,b', 'a=%zz'])('of %j there are none', (text) => {
  expect(resourceFields({ OTEL_RESOURCE_ATTRIBUTES: text })).toEqual({})
})
