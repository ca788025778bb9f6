import { ActionIcon, Menu, Text } from '@mantine/core'
import { useState } from 'react'
import { type Mutation, useMutation } from '../../components/form/use-mutation.ts'
import { ErrorNote } from '../../components/layout/error-note.tsx'
import { Icon } from '../../components/layout/icon.tsx'
import { useSession } from '../../session/session.tsx'
import { ApproverKeysDialog } from './approver-keys-dialog.tsx'
import { PasswordDialog } from './password-dialog.tsx'

/**
 * Shows the account menu: the signed-in user, password, approver keys, and sign-out. The menu opens when it mounts,
 * because the click on the account button mounts it.
 */
export function UserMenu() {
  const { signOut } = useSession()
  const leave = useMutation(signOut)
  const [dialog, setDialog] = useState<Dialog | null>(null)
  const close = () => setDialog(null)
  return (
    <>
      <Choices onOpen={setDialog} leave={leave} />
      {dialog === 'password' ? <PasswordDialog onClose={close} /> : null}
      {dialog === 'keys' ? <ApproverKeysDialog onClose={close} /> : null}
    </>
  )
}

type Dialog = 'password' | 'keys'
type ChoicesProps = { readonly onOpen: (dialog: Dialog) => void; readonly leave: Mutation<[]> }

function Choices({ onOpen, leave }: ChoicesProps) {
  const { user, may } = useSession()
  return (
    <Menu position="bottom-end" width={260} closeOnItemClick={false} defaultOpened>
      <Menu.Target>
        <ActionIcon variant="default" size="lg" aria-label={`Signed in as ${user.email}`}>
          <Icon name="user" />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <div className="menu-who">
          <Text size="sm" fw={600} className="ellipsis">
            {user.email}
          </Text>
          <Text size="xs" c="dimmed">
            {user.role}
            {user.groups.length === 0 ? '' : `, in ${user.groups.join(', ')}`}
          </Text>
          {user.namespaces == null ? null : (
            <Text size="xs" c="dimmed">
              {reachOf(user)}
            </Text>
          )}
        </div>
        <Menu.Divider />
        <Menu.Item onClick={() => onOpen('password')} closeMenuOnClick>
          Change password …
        </Menu.Item>
        {may('approverkeys/update') ? (
          <Menu.Item onClick={() => onOpen('keys')} closeMenuOnClick>
            Approver keys …
          </Menu.Item>
        ) : null}
        <Menu.Item onClick={() => leave.run()}>{leave.isBusy ? 'Signing out …' : 'Sign out'}</Menu.Item>
        {leave.error === null ? null : <ErrorNote title="Still signed in" error={leave.error} />}
      </Menu.Dropdown>
    </Menu>
  )
}

/** Returns a text about the namespaces to which the rights of this user are limited. */
function reachOf({ role, namespaces, rights }: ReturnType<typeof useSession>['user']): string {
  const seen = rights?.['records/get'] ?? []
  if (rights?.['records/get'] === null) return `${role} in ${namespaces?.join(', ')} only`
  if (seen.length === 0) return 'Sees no namespace'
  return `Sees only the ${seen.length === 1 ? 'namespace' : 'namespaces'} ${seen.join(', ')}`
}
