"""An agent of engine `processes`: its sockets, its loop, and how it joins."""
