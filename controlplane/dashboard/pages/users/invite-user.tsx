import { Radio, Stack, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { Role } from '../../../../core/wire/access/rights.ts'
import { call } from '../../api/client.ts'
import { FormDialog } from '../../components/form/form-dialog.tsx'
import { useMutation } from '../../components/form/use-mutation.ts'
import { ROLE_LABELS } from '../../labels/role-labels.ts'
import type { Shown } from './users-page.tsx'

type Props = {
  readonly isOpen: boolean
  readonly onClose: () => void
  readonly onShown: (shown: Shown) => void
}

export function InviteUser({ isOpen, onClose, onShown }: Props) {
  const [email, setEmail] = useState('')
  const [role, setRole] = useState<Role>('member')
  const invite = useMutation(async () => {
    const to = email.trim()
    const { invite_link: secret } = await call('POST /api/dashboard/users', {
      body: { action: 'invite', email: to, role },
    })
    if (secret !== undefined) {
      const about =
        'Send this link to the user. The link registers this e-mail address with this role, once, within 7 days.'
      onShown({ title: `Invitation of ${to}, shown once`, about, secret })
    }
    setEmail('')
    onClose()
  })
  return (
    <FormDialog
      title="Invite user"
      isOpen={isOpen}
      onClose={onClose}
      label="Create link"
      isReady={email.includes('@')}
      mutation={invite}
    >
      <TextInput
        type="email"
        label="E-mail"
        value={email}
        onChange={(event) => setEmail(event.currentTarget.value)}
        required
        data-autofocus
      />
      <Radio.Group label="Role" value={role} onChange={(value) => setRole(value as Role)}>
        <Stack gap="xs" mt={6}>
          {ROLE_LABELS.map(({ value, label, description }) => (
            <Radio key={value} value={value} label={label} description={description} />
          ))}
        </Stack>
      </Radio.Group>
    </FormDialog>
  )
}
