import { Button, Group, Stack, TagsInput } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useState } from 'react'
import type { UserView } from '../../../../core/wire/users.ts'
import { call } from '../../api/client.ts'
import { ConfirmButton } from '../../components/form/confirm-button.tsx'
import { FormDialog } from '../../components/form/form-dialog.tsx'
import { useMutation } from '../../components/form/use-mutation.ts'
import { ErrorNote } from '../../components/layout/error-note.tsx'

type Props = {
  readonly user: UserView
  readonly onDone: () => void
}

export function UserRowActions({ user, onDone }: Props) {
  const { id: user_id, email, status } = user
  const [isOpen, { open, close }] = useDisclosure(false)
  const act = (action: 'suspend' | 'activate') =>
    call('POST /api/dashboard/users', { body: { action, user_id } })
  const activate = useMutation(async () => {
    await act('activate')
    onDone()
  })
  return (
    <Stack gap={4} align="flex-end">
      <Group gap="xs" justify="flex-end">
        <Button size="xs" variant="default" onClick={open} aria-label={`Groups of ${email}`}>
          Groups
        </Button>
        {status === 'active' ? (
          <ConfirmButton
            label="Suspend"
            ariaLabel={`Suspend ${email}`}
            title={`Suspend ${email}`}
            onConfirm={async () => {
              await act('suspend')
              onDone()
            }}
          >
            All sessions of the user end immediately, and their approver keys stop working.
          </ConfirmButton>
        ) : (
          <Button
            size="xs"
            variant="default"
            onClick={() => activate.run()}
            loading={activate.isBusy}
            aria-label={`Activate ${email}`}
          >
            Activate
          </Button>
        )}
      </Group>
      {activate.error === null ? null : <ErrorNote error={activate.error} />}
      {isOpen ? <GroupsDialog user={user} onClose={close} onDone={onDone} /> : null}
    </Stack>
  )
}

function GroupsDialog(props: {
  readonly user: UserView
  readonly onClose: () => void
  readonly onDone: () => void
}) {
  const { user, onClose, onDone } = props
  const [groups, setGroups] = useState<string[]>([...user.groups])
  const save = useMutation(async () => {
    await call('POST /api/dashboard/users', { body: { action: 'set_groups', user_id: user.id, groups } })
    onDone()
    onClose()
  })
  return (
    <FormDialog
      title={`Groups of ${user.email}`}
      isOpen
      onClose={onClose}
      label="Save"
      isReady
      mutation={save}
    >
      <TagsInput
        label="Groups"
        description="Press Enter to add a group. Policies refer to groups under approver_groups."
        value={groups}
        onChange={setGroups}
        maxTags={64}
        acceptValueOnBlur
        data-autofocus
      />
    </FormDialog>
  )
}
