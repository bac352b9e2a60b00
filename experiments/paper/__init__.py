"""The paper reproduced: data, underlying algorithms, protocol, results, claims."""
