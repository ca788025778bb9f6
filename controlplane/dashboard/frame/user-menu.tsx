import { ActionIcon, Menu, Text } from '@mantine/core'
import { useState } from 'react'
import { ErrorNote } from '../parts/error-note.tsx'
import { Icon } from '../parts/icon.tsx'
import { type Deed, useDeed } from '../parts/use-deed.ts'
import { useSession } from '../session/session.tsx'
import { PasswordDialog } from './password-dialog.tsx'

/** Who is signed in, a new password, and the way out. Opens at once: it comes with the click that wants it. */
export function UserMenu() {
  const { signOut } = useSession()
  const leave = useDeed(signOut)
  const [isChanging, setIsChanging] = useState(false)
  return (
    <>
      <Choices onChangePassword={() => setIsChanging(true)} leave={leave} />
      {isChanging ? <PasswordDialog onClose={() => setIsChanging(false)} /> : null}
    </>
  )
}

type ChoicesProps = { readonly onChangePassword: () => void; readonly leave: Deed<[]> }

function Choices({ onChangePassword, leave }: ChoicesProps) {
  const { user } = useSession()
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
        </div>
        <Menu.Divider />
        <Menu.Item onClick={onChangePassword} closeMenuOnClick>
          Change password …
        </Menu.Item>
        <Menu.Item onClick={() => leave.run()}>{leave.isBusy ? 'Signing out …' : 'Sign out'}</Menu.Item>
        {leave.error === null ? null : <ErrorNote title="Still signed in" error={leave.error} />}
      </Menu.Dropdown>
    </Menu>
  )
}
