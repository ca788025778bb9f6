import { ActionIcon } from '@mantine/core'
import { useState } from 'react'
import { Icon } from '../../components/layout/icon.tsx'
import { lazyComponent } from '../../components/lazy/lazy-component.tsx'
import { useSession } from '../../session/session.tsx'

const UserMenu = lazyComponent(
  async () => (await import('../../dialogs.ts')).DIALOGS.UserMenu,
  <Button isLoading />,
)

/** Renders the button of the account menu. The chunk of the menu loads with the first click. */
export function UserButton() {
  const [isOpened, setIsOpened] = useState(false)
  return isOpened ? <UserMenu /> : <Button onClick={() => setIsOpened(true)} />
}

function Button({
  onClick,
  isLoading = false,
}: {
  readonly onClick?: () => void
  readonly isLoading?: boolean
}) {
  const { user } = useSession()
  return (
    <ActionIcon
      variant="default"
      size="lg"
      aria-label={`Signed in as ${user.email}`}
      aria-haspopup="menu"
      loading={isLoading}
      {...(onClick === undefined ? {} : { onClick })}
    >
      <Icon name="user" />
    </ActionIcon>
  )
}
