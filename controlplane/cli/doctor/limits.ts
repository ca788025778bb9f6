/**
 * Protection against one kind of attacker on the machine of the user, with `chaperone run` and with
 * `chaperone run --capture`.
 */
export type Limit = { readonly attacker: string; readonly run: string; readonly captured: string }

/** Protection by kind of attacker. The table must equal the table in docs/security.md, "On one machine". */
export const LIMITS: readonly Limit[] = [
  {
    attacker: 'Program that uses the proxy variables',
    run: 'protected: every request is decided and recorded',
    captured: 'protected: every request is decided and recorded',
  },
  {
    attacker: 'Program that ignores the proxy variables',
    run: 'not protected: the program connects directly, with credentials that it finds itself; only Node programs (18 and newer) are governed, by a preload script',
    captured: 'protected: every connection is redirected to the gateway; UDP and unknown hosts are refused',
  },
  {
    attacker: 'Program that acts as another agent',
    run: 'not protected: the program can read the keys of other agents in the data folder, or register a new agent with gateway.token',
    captured: 'protected: each port, and the capture socket, accepts only requests with the key of its agent',
  },
  {
    attacker: 'Program that reads tokens, keys, credentials, manifests or sessions',
    run: 'not protected: the files belong to the same user account',
    captured:
      'protected: data folders, manifests folders and state folder of all installations of the user are masked; chaperone up refuses a data folder that a running captured command can reach',
  },
  {
    attacker: 'Program that approves its own requests, creates users or lifts a kill switch',
    run: 'partly protected: once there is an owner (--approvals session), admin.token and gateway.token can only make rules stricter; not protected: the program can use the session of chaperone login, apply manifests, use operator.token to relax rules, or change the database',
    captured: 'protected: the program cannot reach the control plane, the data folder or the state folder',
  },
  {
    attacker: 'Program that registers as the first owner',
    run: 'partly protected: from the first chaperone run on, registration requires the owner link; not protected: the program can read the token or the keys that give access to the link',
    captured: 'protected: the program cannot reach the control plane, the data folder or the state folder',
  },
  {
    attacker: 'Web server of an agent on another port, which the user opens in a browser',
    run: 'partly protected: changes require the secret of the dashboard page; not protected: the server can read with the session cookie, and can listen on the port of a stopped control plane',
    captured: 'protected: the browser cannot reach the ports of the captured program',
  },
  {
    attacker: 'Program that attaches to other processes',
    run: 'not protected if the kernel lets a process trace other processes of the same user; the sysctl kernel.yama.ptrace_scope (1 or higher) limits this',
    captured:
      'protected: the program has its own process namespace and /proc, and inherits no file descriptors',
  },
  {
    attacker: 'Program that uses a daemon of the machine (containers, desktop bus, terminal multiplexer)',
    run: 'not protected',
    captured:
      'partly protected: Unix sockets that exist when the command starts are masked (those of other network namespaces only below /run); not protected: sockets that are created later',
  },
  {
    attacker: 'Program that changes files which the user runs later (shell profile, hooks, Chaperone itself)',
    run: 'not protected',
    captured: 'not protected: the program has access to all files of the user except the masked folders',
  },
  {
    attacker: 'Program that reads what the user types in other terminals',
    run: 'not protected: terminals are files of the same user account',
    captured:
      'protected: the program can access only its own terminals and the terminal in which it was started',
  },
  {
    attacker: 'Program that types into a shared terminal (TIOCSTI)',
    run: 'not protected if the kernel lets a program type into its terminal (TIOCSTI); to prevent this, set the sysctl dev.tty.legacy_tiocsti to 0',
    captured: 'the same',
  },
  {
    attacker: 'Repository that contains a data folder',
    run: 'protected: the folder is ignored until you run "chaperone trust DIR", and its server gets no token until the server proves that it has the installation key in your home folder',
    captured: 'protected',
  },
  {
    attacker: 'Other user of the machine',
    run: 'partly protected: files are private, ports require a key, folders of other users are refused, and a server without the installation key in your home folder gets no token, even on the port of an installation that has ended; not protected: the user can register as a viewer and read records (REGISTRATION=invite prevents this), or as the owner while there is no owner and chaperone run was never used',
    captured: 'the same',
  },
  {
    attacker: 'Root, or an agent that runs as root',
    run: 'not protected',
    captured: 'not protected: the system runs files that root can change; start agents as an ordinary user',
  },
]
