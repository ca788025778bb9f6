import { Autocomplete, Select, TextInput } from '@mantine/core'
import { useState } from 'react'
import { call } from '../../api/client.ts'
import { FormDialog } from '../../components/form/form-dialog.tsx'
import { useMutation } from '../../components/form/use-mutation.ts'
import { nameProblem } from '../../labels/plain-name.ts'
import { useResource } from '../../live/use-resource.ts'
import type { FreshKey } from './agents-page.tsx'

type Props = {
  readonly isOpen: boolean
  readonly onClose: () => void
  readonly onKey: (key: FreshKey) => void
}

const NO_GATEWAY = '-'

export function NewAgent({ isOpen, onClose, onKey }: Props) {
  const overview = useResource('GET /api/dashboard/overview', isOpen ? {} : null)
  const [name, setName] = useState('')
  const [runtime, setRuntime] = useState('')
  const [environment, setEnvironment] = useState('development')
  const [gateway, setGateway] = useState<string | null>(null)
  const gateways = overview.data?.gateways.map((each) => each.name) ?? []
  const chosen = gateway ?? gateways[0] ?? NO_GATEWAY
  const create = useMutation(async () => {
    const agent = name.trim()
    const body = { name: agent, runtime: runtime.trim(), environment: environment.trim() }
    const { api_key: key } = await call('POST /api/dashboard/agents', {
      body: chosen === NO_GATEWAY ? body : { ...body, gateway: chosen },
    })
    setName('')
    onKey({ agent, key })
    onClose()
  })
  return (
    <FormDialog
      title="New agent"
      isOpen={isOpen}
      onClose={onClose}
      label="Create"
      isReady={name.trim() !== '' && nameProblem(name.trim()) === null && environment.trim() !== ''}
      mutation={create}
    >
      <TextInput
        label="Name"
        description="Policies, permissions, approvals and records identify the agent by its name."
        error={nameProblem(name.trim())}
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
        maxLength={253}
        required
        data-autofocus
      />
      <TextInput
        label="Runtime"
        description="Framework or program that runs the agent. Optional."
        value={runtime}
        onChange={(event) => setRuntime(event.currentTarget.value)}
        maxLength={128}
      />
      <Autocomplete
        label="Environment"
        description="Policy conditions can use it."
        data={['development', 'staging', 'production']}
        value={environment}
        onChange={setEnvironment}
        maxLength={64}
        required
      />
      <Select
        label="Gateway"
        data={[...gateways.map((value) => ({ value, label: value })), { value: NO_GATEWAY, label: 'none' }]}
        value={chosen}
        onChange={(value) => setGateway(value)}
        allowDeselect={false}
      />
    </FormDialog>
  )
}
