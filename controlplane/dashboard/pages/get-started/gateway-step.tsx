import { Group, NumberInput, Radio, Select, Stack, TextInput } from '@mantine/core'
import { useEffect } from 'react'
import type { EnforcementLevel } from '../../../../core/wire/gateways.ts'
import { Loaded } from '../../components/layout/loading.tsx'
import { LEVEL_LABELS } from '../../labels/level-labels.ts'
import { useResource } from '../../live/use-resource.ts'
import { AddressTest } from './address-test.tsx'
import type { Draft } from './draft.ts'

type Props = { readonly gateway: Draft['gateway']; readonly onChange: (gateway: Draft['gateway']) => void }

/**
 * Renders step 1 of the wizard: the user creates a gateway or selects an existing one. An installation on one machine
 * already has a gateway.
 */
export function GatewayStep({ gateway, onChange }: Props) {
  const overview = useResource('GET /api/dashboard/overview', {})
  const first = overview.data?.gateways[0]?.name
  useEffect(() => {
    if (gateway.name === '' && !gateway.isNew && first !== undefined) onChange({ ...gateway, name: first })
  }, [gateway, first, onChange])
  return (
    <Loaded of={overview}>
      {({ gateways }) => (
        <Stack gap="md">
          <Radio.Group
            label="Gateway"
            description="The proxy that all requests of the agent pass through."
            value={gateway.isNew ? 'new' : 'existing'}
            onChange={(value) =>
              onChange({ ...gateway, isNew: value === 'new', name: value === 'new' ? '' : (first ?? '') })
            }
          >
            <Group mt="xs">
              <Radio value="existing" label="Existing gateway" disabled={gateways.length === 0} />
              <Radio value="new" label="New gateway" />
            </Group>
          </Radio.Group>
          {gateway.isNew ? (
            <NewGateway gateway={gateway} onChange={onChange} />
          ) : (
            <Select
              label="Name"
              data={gateways.map(({ name }) => name)}
              value={gateway.name}
              onChange={(name) => onChange({ ...gateway, name: name ?? '' })}
              allowDeselect={false}
            />
          )}
          {gateway.isNew ? null : <AddressTest gateways={gateways} name={gateway.name} />}
        </Stack>
      )}
    </Loaded>
  )
}

function NewGateway({ gateway, onChange }: Props) {
  return (
    <>
      <TextInput
        label="Name"
        placeholder="edge"
        value={gateway.name}
        onChange={(event) => onChange({ ...gateway, name: event.currentTarget.value })}
        required
      />
      <Group align="flex-start">
        <TextInput
          className="grow"
          label="Host"
          value={gateway.host}
          onChange={(event) => onChange({ ...gateway, host: event.currentTarget.value })}
          required
        />
        <NumberInput
          label="Port"
          min={1}
          max={65_535}
          value={gateway.port}
          onChange={(port) => onChange({ ...gateway, port: Number(port) })}
          hideControls
          w={120}
          required
        />
      </Group>
      <Radio.Group
        label="Enforcement level"
        value={gateway.level}
        onChange={(level) => onChange({ ...gateway, level: level as EnforcementLevel })}
      >
        <Stack gap="xs" mt="xs">
          {Object.entries(LEVEL_LABELS).map(([level, { title, description }]) => (
            <Radio key={level} value={level} label={title} description={description} />
          ))}
        </Stack>
      </Radio.Group>
    </>
  )
}
